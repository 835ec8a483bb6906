#include "core/tasks/detection/mean_average_precision.h"
#include "core/report/json_file.h"

#include <gtest/gtest.h>

#include <bit>

namespace ptrain {
namespace {

/// Of tests/golden/coco_map.json, by image.
struct CocoCase {
  struct Image {
    std::vector<AnnotatedBox> annotations;
    std::vector<DetectedBox> detections;
  };
  std::map<std::int64_t, Image> images;
  std::vector<double> figures;

  explicit CocoCase(const nlohmann::json& golden) : figures(golden.at("figures").get<std::vector<double>>()) {
    for (const nlohmann::json& one : golden.at("annotations")) {
      images[one[0]].annotations.push_back({one[1], {one[2], one[3], one[4], one[5]}, one[6], one[7] == 1});
    }
    for (const nlohmann::json& one : golden.at("detections")) {
      images[one[0]].detections.push_back({one[1], {one[2], one[3], one[4], one[5]}, one[6]});
    }
  }
};

std::vector<double> to_list(const CocoFigures& f) {
  return {f.ap,  f.ap50, f.ap75,  f.ap_small, f.ap_medium, f.ap_large,
          f.ar1, f.ar10, f.ar100, f.ar_small, f.ar_medium, f.ar_large};
}

void expect_same_bits(const MeanAveragePrecision& counted, const std::vector<double>& figures) {
  const std::vector<double> found = to_list(counted.figures());
  ASSERT_EQ(found.size(), figures.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(found[i]), std::bit_cast<std::uint64_t>(figures[i]))
        << "figure " << i << ": " << found[i] << ", pycocotools " << figures[i];
  }
}

const nlohmann::json& coco_cases() {
  static const nlohmann::json cases = read_json(PTRAIN_SOURCE_DIR "/tests/golden/coco_map.json");
  return cases;
}

TEST(MeanAveragePrecision, EqualsPycocotoolsToTheLastBit) {
  for (const auto& [name, golden] : coco_cases().items()) {
    SCOPED_TRACE(name);
    const CocoCase one(golden);
    MeanAveragePrecision counted;
    for (const auto& [number, image] : one.images) counted.add_image(number, image.annotations, image.detections);
    expect_same_bits(counted, one.figures);
  }
}

/// Of tests/golden/coco_masks.json.
RunLengths read_mask(const nlohmann::json& counts) {
  constexpr int side = 128;
  return {side, side, parse_run_lengths(counts.get_ref<const std::string&>(), "golden")};
}

TEST(MeanAveragePrecision, OfMasksEqualsPycocotoolsToTheLastBit) {
  const nlohmann::json cases = read_json(PTRAIN_SOURCE_DIR "/tests/golden/coco_masks.json");
  for (const auto& [name, golden] : cases.items()) {
    if (name == "polygons") continue;
    SCOPED_TRACE(name);
    std::map<std::int64_t, CocoCase::Image> images;
    for (const nlohmann::json& one : golden.at("annotations"))
      images[one[0]].annotations.push_back({one[1], {}, one[3], one[4] == 1, read_mask(one[2])});
    for (const nlohmann::json& one : golden.at("detections"))
      images[one[0]].detections.push_back({one[1], {}, one[3], read_mask(one[2])});
    MeanAveragePrecision counted(MatchedBy::masks);
    for (const auto& [number, image] : images) counted.add_image(number, image.annotations, image.detections);
    expect_same_bits(counted, golden.at("figures").get<std::vector<double>>());
  }
}

TEST(MeanAveragePrecision, IsTheSameForImagesSpreadOverRanksInAnyOrder) {
  for (const auto& [name, golden] : coco_cases().items()) {
    SCOPED_TRACE(name);
    const CocoCase one(golden);
    std::vector<MeanAveragePrecision> ranks(3);
    std::size_t next = 0;
    for (auto image = one.images.rbegin(); image != one.images.rend(); ++image) {
      ranks[next++ % ranks.size()].add_image(image->first, image->second.annotations, image->second.detections);
    }
    MeanAveragePrecision all;
    for (const MeanAveragePrecision& rank : ranks) all.merge(rank.state());
    expect_same_bits(all, one.figures);
  }
}

TEST(MeanAveragePrecision, IsMeanOfTheCategories) {
  const CocoCase one(coco_cases().at("plain"));
  MeanAveragePrecision counted;
  for (const auto& [number, image] : one.images) counted.add_image(number, image.annotations, image.detections);
  double sum = 0;
  for (const auto& [category, precision] : counted.category_precisions()) sum += precision;
  EXPECT_NEAR(sum / static_cast<double>(counted.category_precisions().size()), counted.figures().ap, 1e-12);
}

TEST(MeanAveragePrecision, TakesScoresThatAreNoNumberForTheLowest) {
  const AnnotatedBox annotation{1, {0, 0, 10, 10}, 100, false};
  const DetectedBox right{1, {0, 0, 10, 10}, 0.1}, wrong{1, {50, 50, 10, 10}, std::nan("")};
  MeanAveragePrecision counted;
  counted.add_image(1, std::span(&annotation, 1), std::vector{wrong, right});
  EXPECT_DOUBLE_EQ(counted.figures().ap, 1);
}

}  // namespace
}  // namespace ptrain
