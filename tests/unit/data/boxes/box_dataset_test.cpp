// Images with boxes: folders of COCO and PASCAL VOC, and what becomes of images.
#include "core/data/boxes/annotated_images.h"
#include "core/data/factory.h"
#include "core/data/image/framing.h"
#include "core/data/loader/loader.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// A bitmap of 24 bits, each pixel's red its column and green its row.
void write_bitmap(const fs::path& path, int width, int height) {
  const int row = (3 * width + 3) / 4 * 4;
  std::string bytes(static_cast<std::size_t>(54 + row * height), '\0');
  const auto put = [&](std::size_t at, int value) {
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> 8 * static_cast<int>(i) & 255);
  };
  bytes[0] = 'B';
  bytes[1] = 'M';
  put(2, static_cast<int>(bytes.size()));
  put(10, 54);
  put(14, 40);
  put(18, width);
  put(22, height);
  bytes[26] = 1;
  bytes[28] = 24;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto at = static_cast<std::size_t>(54 + (height - 1 - y) * row + 3 * x);
      bytes[at + 1] = static_cast<char>(y);
      bytes[at + 2] = static_cast<char>(x);
    }
  }
  write(path, bytes);
}

std::string voc_object(const std::string& name, const std::string& corners, bool difficult = false) {
  std::istringstream numbers(corners);
  std::string xml = "<object><name>" + name + "</name><difficult>" + (difficult ? "1" : "0") + "</difficult><bndbox>";
  for (const char* tag : {"xmin", "ymin", "xmax", "ymax"}) {
    std::string number;
    numbers >> number;
    xml += std::string("<") + tag + ">" + number + "</" + tag + ">";
  }
  return xml + "</bndbox></object>";
}

void add_voc(const fs::path& root, const std::string& name, const std::string& objects, int width = 20,
             int height = 10) {
  write_bitmap(root / "JPEGImages" / (name + ".bmp"), width, height);
  write(root / "Annotations" / (name + ".xml"),
        fmt::format("<annotation><filename>{}.bmp</filename><size><width>{}</width><height>{}</height></size>{}"
                    "</annotation>",
                    name, width, height, objects));
}

DataSettings settings(const std::string& source, const fs::path& root) {
  DataSettings settings{.source = source, .path = root.string(), .image_size = 32};
  settings.targets = {tensor_names::annotations};
  settings.augment = Augmentation::none;
  return settings;
}

Batch first_batch(const Dataset& data, std::int64_t rows) {
  LoaderOptions options;
  options.batch_size = rows;
  options.workers = 0;
  options.order = SampleOrder::sequential;
  options.remainder = Remainder::keep;
  return Loader(data, options).next();
}

class Voc : public testing::Test {
 protected:
  Voc() {
    add_voc(root_, "a", voc_object("dog", "3 1 12 10") + voc_object("cat", "1 1 4 4", true));
    add_voc(root_, "b", "");
    add_voc(root_, "c", voc_object("cat", "30 2 40 8") + voc_object("cat", "15 2 40 8"));
    write(root_ / "ImageSets/Main/train.txt", "a\nb  -1\nc\n");
    write(root_ / "ImageSets/Main/val.txt", "b\na\n");
  }

  TemporaryDirectory folder_;
  fs::path root_ = folder_.path();
};

TEST_F(Voc, TrainsOnImagesWithBoxesInside) {
  const auto data = open_dataset(settings("voc", root_), Split::train);
  EXPECT_EQ(data->info().class_names, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(data->size(), 2);
  const std::string list = (root_ / "ImageSets/Main/train.txt").string();
  EXPECT_EQ(data->notes(), (std::vector<std::string>{list + ": 1 box without area or outside the image left out",
                                                     list + ": 1 image without boxes left out",
                                                     list + ": 1 box reaches beyond the image and is clipped to it"}));
  const Batch batch = first_batch(*data, 2);
  const auto objects = read_objects(batch.at(tensor_names::annotations).row<std::int64_t>(0));
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0].box, (std::array<double, 4>{2, 0, 10, 10}));
  EXPECT_EQ(objects[0].area, 100);
  EXPECT_TRUE(objects[1].crowd);
}

TEST_F(Voc, EvaluatesOnAllImagesInTheListsOrder) {
  const auto data = open_dataset(settings("voc", root_), Split::eval);
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->origin(0).file, (root_ / "JPEGImages/b.bmp").string());
}

TEST_F(Voc, FitsImagesIntoTheInputAndPadsThem) {
  const auto data = open_dataset(settings("voc", root_), Split::train);
  const Batch batch = first_batch(*data, 1);
  const FramePlacement place = read_placement(batch.at(tensor_names::placements).row<float>(0));
  EXPECT_EQ(place.original, ImageSize(10, 20));
  EXPECT_EQ(place.resized, ImageSize(16, 32));
  EXPECT_FLOAT_EQ(place.scale_x(), 1.6f);
  const auto pixels = batch.at(tensor_names::images).row<std::uint8_t>(0);
  const auto red = [&](std::size_t y, std::size_t x) { return int{pixels[3 * (32 * y + x)]}; };
  EXPECT_NEAR(red(4, 31), 19, 1);
  EXPECT_EQ(red(16, 0), 124) << "ImageNet's mean";
  EXPECT_EQ(red(31, 31), 124);
}

TEST_F(Voc, TrainsOnBatchesOfOneFormOfImages) {
  add_voc(root_, "c", voc_object("cat", "1 1 8 18"), 10, 20);
  const auto data = open_dataset(settings("voc", root_), Split::train);
  EXPECT_EQ(data->aspect(0), ImageAspect::wide);
  EXPECT_EQ(data->aspect(1), ImageAspect::tall);
  LoaderOptions options{.batch_size = 1, .workers = 0, .sizes = {ImageSize(16, 32), ImageSize(32, 16)}};
  Loader loader(*data, options);
  for (int i = 0; i < 8; ++i) {
    const Batch& batch = loader.next();
    const FramePlacement place = read_placement(batch.at(tensor_names::placements).row<float>(0));
    EXPECT_EQ(place.resized, find_image_size(batch)) << "nothing is padded";
  }
}

TEST_F(Voc, MirrorsHalfOfTheImages) {
  DataSettings flipping = settings("voc", root_);
  flipping.augment = Augmentation::automatic;
  const auto data = open_dataset(flipping, Split::train);
  LoaderOptions options;
  options.batch_size = 2;
  options.workers = 0;
  Loader loader(*data, options);
  int mirrored = 0;
  for (int i = 0; i < 20; ++i) {
    const Batch& batch = loader.next();
    for (std::int64_t row = 0; row < 2; ++row) {
      const FramePlacement place = read_placement(batch.at(tensor_names::placements).row<float>(row));
      const bool flips = place.mirror == Mirror::horizontal;
      const auto pixels = batch.at(tensor_names::images).row<std::uint8_t>(row);
      EXPECT_EQ(pixels[0] > pixels[3 * 31], flips) << "red grows to the right";
      mirrored += flips ? 1 : 0;
    }
  }
  EXPECT_GT(mirrored, 8);
  EXPECT_LT(mirrored, 32);
}

TEST_F(Voc, SaysWhatIsWrong) {
  const auto error = [&](Split split) { return get_error([&] { open_dataset(settings("voc", root_), split); }); };
  add_voc(root_, "d", voc_object("cow", "1 1 9 9"));
  write(root_ / "ImageSets/Main/val.txt", "d\n");
  EXPECT_EQ(error(Split::eval),
            (root_ / "Annotations/d.xml").string() + ": the class cow does not occur in the training images");
  write(root_ / "ImageSets/Main/val.txt", "e\n");
  EXPECT_EQ(error(Split::eval), (root_ / "ImageSets/Main/val.txt").string() + ": names e, but there is no " +
                                    (root_ / "Annotations/e.xml").string());
  write(root_ / "ImageSets/Main/train.txt", "b\n");
  EXPECT_EQ(error(Split::train), (root_ / "ImageSets/Main/train.txt").string() + ": none of its images has an object");
  write(root_ / "ImageSets/Main/train.txt", "\n");
  EXPECT_EQ(error(Split::train), (root_ / "ImageSets/Main/train.txt").string() + ": names no image");
}

TEST_F(Voc, NotesWhatIsProbablyAMistake) {
  add_voc(root_, "a", voc_object("dog", "0 1 12 10") + voc_object("Dog", "1 1 4 4"));
  fs::remove(root_ / "JPEGImages/a.bmp");
  write(root_ / "ImageSets/Main/train.txt", "a\n");
  const std::string list = (root_ / "ImageSets/Main/train.txt").string();
  EXPECT_EQ(
      open_dataset(settings("voc", root_), Split::train)->notes(),
      (std::vector<std::string>{
          list + ": 1 object with xmin or ymin 0, but VOC counts pixels from 1: boxes may be one pixel off",
          list + ": 1 image missing (first: " + (root_ / "Annotations/a.xml").string() + " has neither " +
              (root_ / "JPEGImages/a.jpg").string() + " nor its <filename>, a.bmp)",
          list + ": classes of their own, although they differ only in case, blanks or the form of letters, or as "
                 "true and 1 do: \"Dog\", \"dog\""}));
}

TEST_F(Voc, RefusesBoxesInFractionsOfTheImage) {
  add_voc(root_, "a", voc_object("dog", "0.1 0.2 0.9 0.8"));
  write(root_ / "ImageSets/Main/train.txt", "a\n");
  EXPECT_NE(get_error([&] {
              open_dataset(settings("voc", root_), Split::train);
            }).find("train.txt: all boxes lie within 0 and 1, as fractions of the image do; expected px"),
            std::string::npos);
}

TEST_F(Voc, RejectsImagesOfAnotherSizeThanAnnotated) {
  write_bitmap(root_ / "JPEGImages/a.bmp", 10, 20);
  const auto data = open_dataset(settings("voc", root_), Split::train);
  EXPECT_EQ(get_error([&] { first_batch(*data, 1); }),
            (root_ / "JPEGImages/a.bmp").string() + ": has 10x20 px, its annotations are for 20x10");
}

class Coco : public testing::Test {
 protected:
  Coco() {
    for (const char* name : {"train2017", "val2017"}) {
      write_bitmap(root_ / name / "1.bmp", 20, 10);
      write(root_ / "annotations" / (std::string("instances_") + name + ".json"), annotations("2, 1, 10, 5"));
    }
  }

  static std::string annotations(const std::string& box) {
    return R"({"images": [{"id": 1, "file_name": "1.bmp", "width": 20, "height": 10},
                          {"id": 2, "file_name": "2.bmp", "width": 20, "height": 10}],
               "categories": [{"id": 5, "name": "cat"}],
               "annotations": [{"id": 1, "image_id": 1, "category_id": 5, "iscrowd": 0, "area": 50, "bbox": [)" +
           box + "]}]}";
  }

  TemporaryDirectory folder_;
  fs::path root_ = folder_.path();
};

TEST_F(Coco, FindsAnnotationsAndImagesInTheUsualFolders) {
  const auto train = open_dataset(settings("coco", root_), Split::train);
  EXPECT_EQ(train->size(), 1);
  EXPECT_EQ(train->origin(0).file, (root_ / "train2017/1.bmp").string());
  EXPECT_EQ(open_dataset(settings("coco", root_), Split::eval)->size(), 2) << "images without objects count too";
}

TEST_F(Coco, EvaluatesOnPartOfTheTrainingImages) {
  fs::remove(root_ / "annotations/instances_val2017.json");
  DataSettings split = settings("coco", root_);
  split.dev_fraction = 0.5;
  EXPECT_EQ(open_dataset(split, Split::eval)->size(), 1);
}

TEST_F(Coco, SaysThatNothingIsToBeFound) {
  const fs::path path = root_ / "annotations/instances_val2017.json";
  EXPECT_TRUE(open_dataset(settings("coco", root_), Split::eval)->notes().empty());
  std::string crowds = annotations("2, 1, 10, 5");
  write(path, crowds.replace(crowds.find("\"iscrowd\": 0"), 12, "\"iscrowd\": 1"));
  EXPECT_EQ(open_dataset(settings("coco", root_), Split::eval)->notes(),
            std::vector<std::string>{path.string() + ": no image has a box to find, so mAP is undefined"});
}

TEST_F(Coco, EvaluatesWithoutTrainingAnnotations) {
  fs::remove(root_ / "annotations/instances_train2017.json");
  const auto data = open_dataset(settings("coco", root_), Split::eval);
  EXPECT_EQ(data->info().category_ids, std::vector<std::int64_t>{5});
  EXPECT_EQ(data->origin(1).id, 2);
}

TEST_F(Coco, RefusesBoxesInFractionsOfTheImage) {
  const fs::path path = root_ / "annotations/instances_train2017.json";
  write(path, annotations("0.25, 0.5, 0.5, 0.25"));
  EXPECT_EQ(get_error([&] { open_dataset(settings("coco", root_), Split::train); }),
            path.string() +
                ": all boxes lie within 0 and 1, as fractions of the image do; expected px: multiply them by "
                "its width and height");
}

TEST_F(Coco, CountsBoxesBeyondTheImage) {
  const fs::path path = root_ / "annotations/instances_train2017.json";
  for (const auto& [box, notes] : {std::pair{"-5, 1, 10, 5", 2}, {"15, 1, 10, 5", 2}, {"2, 1, 18.5, 5", 1}}) {
    write(path, annotations(box));
    const auto found = open_dataset(settings("coco", root_), Split::train)->notes();
    EXPECT_EQ(found.size(), static_cast<std::size_t>(notes)) << box;
    if (notes == 2) {
      EXPECT_EQ(found.back(), path.string() + ": 1 box reaches beyond the image and is clipped to it");
    }
  }
}

TEST_F(Coco, SaysWhatIsWrong) {
  write(root_ / "annotations/instances_train2017.json", annotations("25, 1, 10, 5"));
  EXPECT_EQ(get_error([&] { open_dataset(settings("coco", root_), Split::train); }),
            (root_ / "annotations/instances_train2017.json").string() + ": has no image with a box that can be learnt");
  fs::remove_all(root_ / "train2017");
  EXPECT_NE(
      get_error([&] { open_dataset(settings("coco", root_), Split::train); }).find("its image 1.bmp is in none of"),
      std::string::npos);
  fs::remove_all(root_ / "annotations");
  EXPECT_NE(get_error([&] {
              open_dataset(settings("coco", root_), Split::train);
            }).find("has no annotations of COCO's form for training: expected annotations/instances_train*.json"),
            std::string::npos);
}

}  // namespace
}  // namespace ptrain
