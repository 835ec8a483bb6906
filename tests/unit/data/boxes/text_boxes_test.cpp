// Boxes around text: their files, how they move with their images, and the maps that are learnt, against values of
// shapely (tests/golden/make_text_boxes_golden.py) and by hand.
#include "core/data/boxes/text_boxes.h"

#include "core/data/factory.h"
#include "core/data/image/png_image.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

namespace ptrain {
namespace text_boxes_test {

using nlohmann::json;

Quad to_quad(const json& points) {
  Quad quad;
  for (std::size_t i = 0; i < quad.size(); ++i) quad[i] = {points[i][0].get<double>(), points[i][1].get<double>()};
  return quad;
}

json read_golden() { return json::parse(std::ifstream(PTRAIN_SOURCE_DIR "/tests/golden/text_boxes.json")); }

Quad upright(double left, double top, double right, double bottom) {
  return {{{left, top}, {right, top}, {right, bottom}, {left, bottom}}};
}

TEST(Quads, HaveTheAreasAndIntersectionsOfShapely) {
  const json golden = read_golden();
  for (const json& one : golden.at("pairs")) {
    SCOPED_TRACE(one.dump());
    const Quad a = to_quad(one["a"]), b = to_quad(one["b"]);
    EXPECT_NEAR(compute_area(a), one["area"].get<double>(), 1e-9);
    EXPECT_NEAR(compute_perimeter(a), one["perimeter"].get<double>(), 1e-9);
    EXPECT_NEAR(compute_intersection(a, b), one["intersection"].get<double>(), 1e-9);
    EXPECT_NEAR(compute_intersection(b, a), one["intersection"].get<double>(), 1e-9);
    EXPECT_NEAR(compute_intersection(a, a), compute_area(a), 1e-9);
  }
}

TEST(Quads, WithCornersInNoOrderHaveCrossingSides) {
  Quad quad = upright(0, 0, 4, 2);
  EXPECT_FALSE(has_crossing_sides(quad));
  std::swap(quad[1], quad[2]);
  EXPECT_TRUE(has_crossing_sides(quad));
  std::swap(quad[2], quad[3]);
  EXPECT_TRUE(has_crossing_sides(quad));
}

TEST(Quads, AreFoundAroundPointsAndExpanded) {
  const std::vector<Point2d> points{{2, 0}, {4, 2}, {1, 5}, {-1, 3}, {1, 3}, {2, 1}};  // turned by 45 degrees
  const Quad found = find_rectangle(points);
  EXPECT_NEAR(compute_area(found), 12, 1e-9);
  const Quad expanded = expand_rectangle(found, 1);
  EXPECT_NEAR(compute_area(expanded), 12 + compute_perimeter(found) + 4, 1e-9);
  EXPECT_NEAR(compute_intersection(expanded, found), 12, 1e-9);
  EXPECT_EQ(compute_area(find_rectangle(std::vector<Point2d>{{3, 4}})), 0);
}

class TextBoxes : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_ = {.source = "text_boxes",
                 .path = folder_.path().string(),
                 .train_file = "train.txt",
                 .dev_file = "val.txt",
                 .targets = {tensor_names::text_boxes},
                 .image_size = ImageSize(64, 96)};
  }
  void write_image(const std::string& name, int width, int height) {
    folder_.write(name, encode_jpeg(make_picture(width, height), width, height, JpegKind::rgb));
  }
  std::unique_ptr<Dataset> open(const std::string& list, Split split = Split::eval) {
    folder_.write(split == Split::train ? "train.txt" : "val.txt", list);
    return open_dataset(settings_, split);
  }
  /// The message of a call, without the folder.
  template <typename Call>
  std::string refuse(const Call& call) {
    std::string message = get_error(call);
    const std::string place = folder_.path().string() + "/";
    for (std::size_t at = message.find(place); at != message.npos; at = message.find(place)) {
      message.erase(at, place.size());
    }
    return message;
  }
  std::vector<TextBox> load_boxes(const Dataset& data, std::int64_t index, std::uint64_t epoch = 0) {
    sample_ = load_sample(data, index, SampleRandom(0, epoch, index));
    return read_text_boxes(sample_.at(tensor_names::text_boxes).row<float>(0));
  }
  float get_pixel(const char* map, double x, double y) const {
    const std::int64_t width = sample_.at(map).shape()[2];
    return sample_.values<float>(
        map)[static_cast<std::size_t>(static_cast<std::int64_t>(y) * width + static_cast<std::int64_t>(x))];
  }

  const TemporaryDirectory folder_;
  DataSettings settings_;
  Batch sample_;
};

constexpr const char* one_text = R"([{"transcription": "a", "points": [[10, 20], [90, 20], [90, 60], [10, 60]]}])";

TEST_F(TextBoxes, AreLearntAsTheMapsOfShapely) {
  const json golden = read_golden().at("maps");
  const ImageSize size(golden["height"].get<int>(), golden["width"].get<int>());
  std::vector<TextBox> boxes;
  for (const json& one : golden["boxes"]) boxes.push_back({to_quad(one["points"]), one["ignored"].get<bool>()});
  const std::vector<TensorSpec> images{{tensor_names::images, DType::u8, {size.height, size.width, 3}}};
  Batch batch(with_text_boxes(images, boxes.size()), 1);
  write_text_targets(boxes, size, SampleRow(batch, 0));
  const auto text = batch.values<float>(tensor_names::text_map);
  const auto thresholds = batch.values<float>(tensor_names::threshold_map);
  for (std::size_t y = 0; y < golden["rows"].size(); ++y) {
    int learnt = 0, ignored = 0, limited = 0;
    double sum = 0;
    for (std::size_t x = 0; x < static_cast<std::size_t>(size.width); ++x) {
      const std::size_t at = y * static_cast<std::size_t>(size.width) + x;
      learnt += text[at] == 1;
      ignored += text[at] == -1;
      limited += thresholds[at] >= 0;
      sum += thresholds[at] >= 0 ? double{thresholds[at]} : 0;
    }
    const json& row = golden["rows"][y];
    EXPECT_EQ(learnt, row[0].get<int>()) << "row " << y;
    EXPECT_EQ(ignored, row[1].get<int>()) << "row " << y;
    EXPECT_EQ(limited, row[2].get<int>()) << "row " << y;
    EXPECT_NEAR(sum, row[3].get<double>(), 1e-4) << "row " << y;
  }
  EXPECT_EQ(read_text_boxes(batch.at(tensor_names::text_boxes).row<float>(0)).size(), boxes.size());
}

TEST_F(TextBoxes, AreReadFromPaddleOcrsLists) {
  write_image("pictures/a.jpg", 192, 128);
  const auto data = open(std::string("pictures/a.jpg\t[{\"transcription\": \"###\", \"points\": [[1, 2], [3.5, 2], ") +
                         "[3.5, 8], [1, 8]], \"other\": 1}, {\"points\": [[100,20],[180,20],[180,100],[100,100]], " +
                         "\"transcription\": \"Café\"}]\r\n\nb.jpg\t[]\n");
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->info().class_names, std::vector<std::string>{"text"});
  EXPECT_EQ(data->origin(1).line, 3);
  const std::vector<TextBox> boxes = load_boxes(*data, 0);
  ASSERT_EQ(boxes.size(), 2U);
  EXPECT_TRUE(boxes[0].ignored);
  EXPECT_EQ(boxes[0].corners, upright(0.5, 1, 1.75, 4));
  EXPECT_FALSE(boxes[1].ignored);
  EXPECT_EQ(boxes[1].corners, upright(50, 10, 90, 50));
  EXPECT_EQ(get_pixel(tensor_names::text_map, 70, 30), 1);
  EXPECT_EQ(get_pixel(tensor_names::text_map, 52, 30), 0);
  EXPECT_EQ(get_pixel(tensor_names::text_map, 1, 2), -1);
}

TEST_F(TextBoxes, AreReadFromIcdarsFilesBesideTheImages) {
  settings_.source = "icdar";
  write_image("train/img_1.jpg", 96, 64);
  write_image("train/img_2.jpg", 96, 64);
  folder_.write("train/gt_img_1.txt", std::string("\xEF\xBB\xBF"
                                                  "10,20,90,20,90,60,10,60,Hello, world\r\n"));
  folder_.write("train/img_2.txt", std::string("0,0,9,0,9,9,0,9,###\n1.5, 2, 20, 2, 20, 20, 1.5, 20,\n"));
  settings_.dev_fraction = 0.5;
  EXPECT_EQ(open_dataset(settings_, Split::train)->size(), 1);
  settings_.dev_fraction = 0;
  EXPECT_EQ(refuse([&] { open_dataset(settings_, Split::eval); }),
            folder_.path().string() +
                ": has no images to evaluate on; expected val/ with images and ICDAR's files of "
                "the same names, or data.split.dev, the fraction of train to evaluate on");
  std::filesystem::rename(folder_ / "train", folder_ / "val");
  const auto data = open_dataset(settings_, Split::eval);
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(load_boxes(*data, 0).at(0).corners, upright(10, 20, 90, 60));
  const std::vector<TextBox> second = load_boxes(*data, 1);
  ASSERT_EQ(second.size(), 2U);
  EXPECT_TRUE(second[0].ignored);
  EXPECT_EQ(second[1].corners, upright(1.5, 2, 20, 20));
  write_image("val/img_3.jpg", 9, 9);
  EXPECT_EQ(refuse([&] { open_dataset(settings_, Split::eval); }),
            "val/img_3.jpg: has no boxes; expected img_3.txt or gt_img_3.txt beside it");
}

TEST_F(TextBoxes, OfAnotherFormAreRefusedByFileAndLine) {
  const auto refuse_list = [&](const std::string& list) { return refuse([&] { open(list); }); };
  const std::string good = std::string("a.jpg\t") + one_text + "\n";
  EXPECT_EQ(refuse_list(good + "b.jpg []\n"),
            "val.txt:2: expected the path of an image, a tab and a list of its texts, got \"b.jpg []\"");
  EXPECT_TRUE(refuse_list(good + "b.jpg\t[{]\n").starts_with("val.txt:2: is no valid JSON after the tab: "));
  EXPECT_EQ(refuse_list("b.jpg\t7\n"), "val.txt:1: expected a list [...] of texts after the tab, got \"7\"");
  EXPECT_EQ(refuse_list("b.jpg\t[7]\n"),
            "val.txt:1: text 1: expected {\"transcription\": text, \"points\": four corners}, got \"7\"");
  EXPECT_EQ(refuse_list("b.jpg\t[{\"transcription\": \"a\", \"points\": [[1, 2]]}]\n"),
            "val.txt:1: text 1: points: expected four corners [x, y], got \"[[1,2]]\"");
  EXPECT_EQ(refuse_list("b.jpg\t[{\"transcription\": \"a\", \"points\": [[1, 2], [2, 2], [3], [4, 4]]}]\n"),
            "val.txt:1: text 1: points: expected corners [x, y] in px, got \"[3]\"");
  EXPECT_EQ(refuse_list("b.jpg\t[{\"transcription\": \"a\", \"points\": [[1, 2], [2, 2], [3, 1e9], [4, 4]]}]\n"),
            "val.txt:1: text 1: points: expected corners [x, y] in px, got \"[3,1000000000.0]\"");
  EXPECT_EQ(refuse_list("b.jpg\t" + std::string(99, '[') + "\n"), "val.txt:1: is nested more than 8 deep");
  EXPECT_EQ(refuse_list("\n"),
            "val.txt: lists no image; expected the path of an image, a tab and a list of its texts a line");
  EXPECT_EQ(refuse_list("b.jpg\t[]\n"), "val.txt: has no box around text to read in 1 image");
  const auto refuse_icdar = [](const std::string& text) {
    return get_error([&] { parse_icdar_boxes(text, "gt.txt"); });
  };
  EXPECT_EQ(refuse_icdar("1,2,3,4,5,6,7,8,a\n1,2,3,4,5,6,7\n"),
            "gt.txt:2: expected x1,y1,x2,y2,x3,y3,x4,y4,text with corners in px, got \"1,2,3,4,5,6,7\"");
  EXPECT_EQ(refuse_icdar("1,2,3,4,5,6,7,nan,a\n"),
            "gt.txt:1: expected x1,y1,x2,y2,x3,y3,x4,y4,text with corners in px, got \"1,2,3,4,5,6,7,nan,a\"");
}

TEST_F(TextBoxes, WithoutAreaOrWithCrossingSidesAreLeftOut) {
  write_image("a.jpg", 96, 64);
  const auto data = open(std::string("a.jpg\t[{\"transcription\": \"a\", \"points\": [[0,0],[9,9],[9,0],[0,9]]}, ") +
                         "{\"transcription\": \"b\", \"points\": [[0,0],[9,0],[9,0],[0,0]]}, " +
                         std::string(one_text).substr(1) + "\n");
  EXPECT_EQ(load_boxes(*data, 0).size(), 1U);
  ASSERT_EQ(data->notes().size(), 1U);
  EXPECT_TRUE(data->notes()[0].ends_with("val.txt: 2 boxes without area or with crossing sides left out"));
}

/// A dark image with a bright rectangle where its box is.
TEST_F(TextBoxes, MoveWithTheirImagesInTraining) {
  constexpr int width = 120, height = 80;
  std::vector<std::uint8_t> pixels(std::size_t{3} * width * height, 10);
  for (int y = 30; y < 50; ++y) {
    for (int x = 35; x < 90; ++x) std::fill_n(pixels.begin() + 3 * (y * width + x), 3, std::uint8_t{250});
  }
  folder_.write("a.png", encode_png(pixels, width, height));
  const std::string list = "a.png\t[{\"transcription\": \"a\", \"points\": [[35,30],[90,30],[90,50],[35,50]]}]\n";
  const auto data = open(list, Split::train);
  int turned = 0, mirrored = 0, scaled = 0;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    const std::vector<TextBox> boxes = load_boxes(*data, 0, epoch);
    ASSERT_EQ(boxes.size(), 1U);
    const Quad& quad = boxes[0].corners;
    const auto shown = sample_.values<std::uint8_t>(tensor_names::images);
    for (int y = 10; y < 54; ++y) {  // no padding is turned into this part
      for (int x = 8; x < 88; ++x) {
        const Point2d centre{x + 0.5, y + 0.5};
        if (compute_distance(quad, centre) < 4) continue;  // where it is blurred
        const int value = shown[static_cast<std::size_t>(3 * (y * 96 + x))];
        EXPECT_EQ(value > 150, contains(quad, centre)) << "epoch " << epoch << " at " << x << ", " << y;
      }
    }
    turned += std::abs(quad[0].y - quad[1].y) > 0.5;
    mirrored += quad[0].x > quad[1].x;
    scaled += std::abs(compute_area(quad) - 55 * 20 * 0.64) > 100;
  }
  EXPECT_GT(turned, 10);
  EXPECT_GT(mirrored, 3);
  EXPECT_LT(mirrored, 17);
  EXPECT_GT(scaled, 10);
  settings_.augment = Augmentation::none;
  EXPECT_EQ(load_boxes(*open_dataset(settings_, Split::train), 0)[0].corners, upright(28, 24, 72, 40));
}

TEST_F(TextBoxes, AreHeldOutForEvaluation) {
  std::string list;
  for (int i = 0; i < 10; ++i) list += std::to_string(i) + ".jpg\t" + one_text + "\n";
  settings_.dev_fraction = 0.3;
  EXPECT_EQ(open(list, Split::train)->size(), 7);
  EXPECT_EQ(open_dataset(settings_, Split::eval)->size(), 3);
  folder_.write("val.txt", list);
  EXPECT_NE(get_error([&] { open_dataset(settings_, Split::train); }, ExitCode::usage).find("data.split.dev: "),
            std::string::npos);
}

TEST_F(TextBoxes, ChangeTheFingerprint) {
  const std::string list = std::string("a.jpg\t") + one_text + "\n";
  const std::uint64_t first = open(list)->fingerprint();
  EXPECT_EQ(open(list)->fingerprint(), first);
  std::string moved = list;
  moved.replace(moved.find("[10, 20]"), 8, "[11, 20]");
  EXPECT_NE(open(moved)->fingerprint(), first);
}

TEST(SyntheticTextBoxes, AreAroundWords) {
  const DataSettings settings{.source = "synthetic", .targets = {tensor_names::text_boxes}, .synthetic_samples = 40};
  const auto data = open_dataset(settings, Split::train);
  std::size_t most = 0;
  for (std::int64_t index = 0; index < data->size(); ++index) {
    const Batch sample = load_sample(*data, index, SampleRandom(0, 0, index));
    const std::vector<TextBox> boxes = read_text_boxes(sample.at(tensor_names::text_boxes).row<float>(0));
    ASSERT_GE(boxes.size(), 1U);
    most = std::max(most, boxes.size());
    // Most pixels are of the background; the others are ink.
    const auto pixels = sample.values<std::uint8_t>(tensor_names::images);
    const bool is_dark = std::ranges::count_if(pixels, [](std::uint8_t one) { return one < 120; }) > 128 * 128 * 3 / 2;
    for (std::size_t i = 0; i < pixels.size() / 3; ++i) {
      if ((pixels[3 * i] < 120) == is_dark) continue;
      const Point2d centre{static_cast<double>(i % 128) + 0.5, static_cast<double>(i / 128) + 0.5};
      EXPECT_TRUE(std::ranges::any_of(boxes, [&](const TextBox& one) { return contains(one.corners, centre); }));
    }
  }
  EXPECT_EQ(most, 4U);
}

}  // namespace text_boxes_test
}  // namespace ptrain
