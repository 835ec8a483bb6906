// Annotations of COCO and PASCAL VOC, and what is wrong with them.
#include "core/data/boxes/coco_json.h"
#include "core/data/boxes/rle.h"
#include "core/data/boxes/voc_xml.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace ptrain {
namespace {

nlohmann::json small_coco() {
  return {{"images",
           {{{"id", 7}, {"file_name", "b.jpg"}, {"width", 16}, {"height", 12}},
            {{"id", 3}, {"file_name", "a.jpg"}, {"width", 8}, {"height", 8}}}},
          {"categories", {{{"id", 90}, {"name", "dog"}}, {{"id", 2}, {"name", "cat"}}}},
          {"annotations",
           {{{"id", 1},
             {"image_id", 7},
             {"category_id", 90},
             {"bbox", {1.5, 2, 3, 4}},
             {"area", 9.5},
             {"iscrowd", 0},
             {"segmentation", {{1, 1, 4, 1, 4, 5}}}},
            {{"id", 2},
             {"image_id", 7},
             {"category_id", 2},
             {"bbox", {3, 2, 6, 5}},
             {"area", 29},
             {"iscrowd", 1},
             {"segmentation", {{"size", {12, 16}}, {"counts", "V15700NJN640000b2"}}}}}}};
}

AnnotatedImages parse(const nlohmann::json& document, int classes = 0, ObjectMasks masks = ObjectMasks::skip) {
  std::istringstream file(document.dump());
  return parse_coco(file, "a.json", "images", classes, masks);
}

std::string error_of(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json document = small_coco();
  document[nlohmann::json::json_pointer(pointer)] = value;
  return get_error([&] { parse(document); });
}

TEST(CocoJson, NumbersCategoriesByIdAndOrdersImagesById) {
  const AnnotatedImages read = parse(small_coco());
  EXPECT_EQ(read.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(read.category_ids, (std::vector<std::int64_t>{2, 90}));
  ASSERT_EQ(read.images.size(), 2U);
  EXPECT_EQ(read.images[0].file, "images/a.jpg");
  EXPECT_TRUE(read.images[0].objects.empty());
  EXPECT_EQ(read.images[1].id, 7);
  EXPECT_EQ(read.images[1].width, 16);
  ASSERT_EQ(read.images[1].objects.size(), 2U);
  const AnnotatedObject& dog = read.images[1].objects[0];
  EXPECT_EQ(dog.label, 1);
  EXPECT_EQ(dog.box, (std::array<double, 4>{1.5, 2, 3, 4}));
  EXPECT_EQ(dog.area, 9.5);
  EXPECT_FALSE(dog.crowd);
  EXPECT_TRUE(read.images[1].objects[1].crowd);
}

TEST(CocoJson, TakesIdsForClassesWhereAllOfThemAreClasses) {
  const AnnotatedImages read = parse(small_coco(), 91);
  ASSERT_EQ(read.class_names.size(), 91U);
  EXPECT_EQ(read.class_names[2], "cat");
  EXPECT_EQ(read.class_names[3], "unused 3");
  EXPECT_TRUE(read.category_ids.empty()) << "they are the numbers";
  EXPECT_EQ(read.images[1].objects[0].label, 90);
}

TEST(CocoJson, CountsIdsFromOneWhereTheLargestIsTheLastClass) {
  const AnnotatedImages read = parse(small_coco(), 90);
  ASSERT_EQ(read.class_names.size(), 90U);
  EXPECT_EQ(read.class_names[0], "unused 1");
  EXPECT_EQ(read.class_names[1], "cat");
  EXPECT_EQ(read.category_ids.at(89), 90);
  EXPECT_EQ(read.images[1].objects[0].label, 89);
}

TEST(CocoJson, SaysWhatIsWrong) {
  EXPECT_EQ(error_of("/annotations/1/image_id", 5), "a.json: annotation 1: image_id 5 is none of the images'");
  EXPECT_EQ(error_of("/annotations/0/category_id", 3),
            "a.json: annotation 0: category_id 3 is none of the categories'");
  EXPECT_EQ(error_of("/annotations/0/bbox", {1, 2, 3}),
            "a.json: annotation 0: bbox: expected [x, y, width, height], got [1,2,3]");
  EXPECT_EQ(error_of("/annotations/0/area", "large"), "a.json: annotation 0: area: expected a number, got \"large\"");
  EXPECT_EQ(error_of("/annotations/0/segmentation/0", {1, 2, 3}),
            "a.json: annotation 0: segmentation: expected polygons [x, y, x, y, ...], got [1,2,3]");
  EXPECT_EQ(error_of("/annotations/1/segmentation/size", {8, 24}),
            "a.json: annotation 1: segmentation: is for 8x24 px, the image has 12x16");
  EXPECT_EQ(error_of("/annotations/1/segmentation/size", {8, 8}),
            "a.json: annotation 1: segmentation: its runs have 192 px, its size 8x8 has 64");
  EXPECT_EQ(error_of("/annotations/1/segmentation/counts", "V15 700"),
            "a.json: annotation 1: segmentation: counts: character 4 is none of a run length");
  EXPECT_EQ(error_of("/images/1/id", 7), "a.json: image 1: another image has the id 7");
  EXPECT_EQ(error_of("/images/1/width", 0), "a.json: image 1: expected a width and height above 0, got 0x8");
  EXPECT_EQ(error_of("/categories/1/id", 90), "a.json: category 1: another category has the id 90");
  EXPECT_EQ(error_of("/categories/1/name", "dog"), "a.json: category 1: name: category 90 is called dog too");
  EXPECT_EQ(error_of("/images", nlohmann::json::array()), "a.json: has no images");
  EXPECT_EQ(error_of("/categories", nlohmann::json::array()), "a.json: has no categories");
}

TEST(CocoJson, KeepsMasksOnRequest) {
  EXPECT_EQ(parse(small_coco()).images[1].objects[0].mask, "");
  const std::vector<AnnotatedObject> objects = parse(small_coco(), 0, ObjectMasks::read).images[1].objects;
  EXPECT_EQ(objects[1].mask, "V15700NJN640000b2");
  EXPECT_EQ((RunLengths{12, 16, parse_run_lengths(objects[0].mask, "a")}),
            rasterize(std::vector<Polygon>{{1, 1, 4, 1, 4, 5}}, 12, 16));
  nlohmann::json document = small_coco();
  document["annotations"][0].erase("segmentation");
  EXPECT_EQ(get_error([&] { parse(document, 0, ObjectMasks::read); }),
            "a.json: annotation 0: has no segmentation; a model without masks learns from boxes alone");
  document["annotations"][0]["segmentation"] = {{1, 1, 4, 1e9, 4, 5}};
  EXPECT_EQ(get_error([&] { parse(document, 0, ObjectMasks::read); }),
            "a.json: annotation 0: segmentation: a corner at 1000000000 px is far outside the image");
}

TEST(CocoJson, SaysThatAFileIsNone) {
  const auto error = [](const std::string& text) {
    return get_error([&] {
      std::istringstream file(text);
      parse_coco(file, "a.json", "");
    });
  };
  EXPECT_EQ(error("{\"images\": []}"), "a.json: has no \"annotations\"; is it a file of annotations of COCO?");
  EXPECT_EQ(error("[]"), "a.json: expected an object with images, annotations and categories");
  EXPECT_NE(error("{\"images\": [").find("a.json: is no valid JSON"), std::string::npos);
  EXPECT_EQ(error(std::string(100, '[')), "a.json: is nested more than 64 deep");
}

TEST(RunLengths, AreThoseOfPycocotools) {
  const RunLengths runs = parse_rle({{"size", {12, 16}}, {"counts", "V15700NJN640000b2"}}, "a");
  EXPECT_EQ(runs.area(), 29);
  EXPECT_EQ(runs.counts.front(), 38);
  EXPECT_EQ(parse_rle({{"size", {2, 3}}, {"counts", {1, 2, 3}}}, "a").area(), 2);
}

TEST(VocXml, CountsFromOneAndIncludesCorners) {
  const VocAnnotation read = parse_voc(
      "<annotation><filename>a.jpg</filename><size><width>64</width><height>48</height></size>"
      "<object><name> dog &amp; cat </name><difficult>1</difficult><bndbox><xmin>5</xmin><ymin>2</ymin>"
      "<xmax>64</xmax><ymax>48.5</ymax></bndbox></object></annotation>",
      "a.xml");
  EXPECT_EQ(read.file_name, "a.jpg");
  EXPECT_EQ(read.width, 64);
  ASSERT_EQ(read.objects.size(), 1U);
  EXPECT_EQ(read.objects[0].name, "dog & cat");
  EXPECT_EQ(read.objects[0].box, (std::array<double, 4>{4, 1, 60, 47.5}));
  EXPECT_TRUE(read.objects[0].difficult);
}

TEST(VocXml, SaysWhatIsWrong) {
  const auto error = [](const std::string& object) {
    return get_error([&] { parse_voc("<annotation><object>" + object + "</object></annotation>", "a.xml"); });
  };
  const std::string corners = "<bndbox><xmin>5</xmin><ymin>2</ymin><xmax>4</xmax><ymax>9</ymax></bndbox>";
  EXPECT_EQ(error(corners), "a.xml: object 1: has no name");
  EXPECT_EQ(error("<name>cat</name>"), "a.xml: object 1: has no bndbox");
  EXPECT_EQ(error("<name>cat</name>" + corners), "a.xml: object 1: xmax 4 is less than xmin 5");
  EXPECT_EQ(error("<name>cat</name><bndbox><xmin>left</xmin></bndbox>"),
            "a.xml: object 1: xmin: expected a number, got \"left\"");
  EXPECT_EQ(get_error([] { parse_voc("<image/>", "a.xml"); }), "a.xml: has no <annotation>, as files of PASCAL VOC do");
  EXPECT_NE(get_error([] { parse_voc("<annotation>", "a.xml"); }).find("a.xml: is no valid XML"), std::string::npos);
}

TEST(AnnotatedObjects, KeepEveryBitInATensor) {
  const std::vector<AnnotatedObject> objects{{3, {0.1, 1e-300, 7.0 / 3, 1e300}, 0.3, true},
                                             {0, {1, 2, 3, 4}, 12, false}};
  std::vector<std::int64_t> rows(3 * annotation_columns);
  write_objects(objects, rows);
  const std::vector<AnnotatedObject> read = read_objects(rows);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].box, objects[0].box);
  EXPECT_EQ(read[0].area, objects[0].area);
  EXPECT_EQ(read[0].label, 3);
  EXPECT_TRUE(read[0].crowd);
  EXPECT_FALSE(read[1].crowd);
}

TEST(AnnotatedObjects, KeepTheirMasksInATensorOfAllRuns) {
  std::vector<AnnotatedObject> objects(2);
  const RunLengths first{4, 5, {3, 6, 11}}, second{4, 5, {0, 20}};
  objects[0].mask = format_run_lengths(first.counts);
  objects[1].mask = format_run_lengths(second.counts);
  EXPECT_EQ(count_runs(objects), 5U);
  std::vector<std::int32_t> runs(7);
  write_masks(objects, runs);
  EXPECT_EQ(runs, (std::vector<std::int32_t>{3, 9, 20, 0, 20, 0, 0}));
  std::vector<std::int64_t> rows(2 * annotation_columns);
  write_objects(objects, rows);
  const std::vector<AnnotatedObject> read = read_objects(rows);
  EXPECT_EQ(read_mask(read[0], runs, {4, 5}), first);
  EXPECT_EQ(read_mask(read[1], runs, {4, 5}), second);
}

}  // namespace
}  // namespace ptrain
