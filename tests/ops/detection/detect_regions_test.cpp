#include "core/ops/detection/detect_regions.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/detect_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ptrain::testing {
namespace detect_regions_test {

using Values = std::vector<double>;

/// The detections, and their classes as logits count them.
std::vector<Values> reference(const RegionDetectionAttributes& a, const std::vector<HostTensor>& in) {
  const Shape &shape = in[1].desc.shape, &boxes = in[0].desc.shape;
  const std::int64_t regions = shape[1], classes = shape[2];
  Values rows, logit_classes;
  for (std::int64_t image = 0; image < shape[0]; ++image) {
    float image_width = a.width, image_height = a.height;
    if (in.size() > DetectRegions::placements) {
      const double* placement = in[DetectRegions::placements].values.data() + image * placement_columns;
      image_width = static_cast<float>(placement[2]), image_height = static_cast<float>(placement[3]);
    }
    std::vector<reference::DetectedObject> found;
    for (std::int64_t r = image * regions; r < (image + 1) * regions; ++r) {
      const double *region = in[0].values.data() + r * boxes[2], *logits = in[1].values.data() + r * classes;
      if (region[2] <= region[0] || region[3] <= region[1]) continue;
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k]);
      for (std::int64_t k = 1; k < classes; ++k) {
        const double score = std::exp(logits[k]) / sum;
        if (!(score > double{a.score})) continue;
        const double* d = in[2].values.data() + (r * classes + k) * 4;
        const double width = region[2] - region[0], height = region[3] - region[1];
        const double x = region[0] + width / 2 + d[0] / a.weights.centre * width,
                     y = region[1] + height / 2 + d[1] / a.weights.centre * height;
        const double w = width * std::exp(std::min(d[2] / a.weights.size, std::log(62.5))) / 2,
                     h = height * std::exp(std::min(d[3] / a.weights.size, std::log(62.5))) / 2;
        const auto clip = [](double value, float side) { return std::clamp(value, 0.0, double{side}); };
        const std::array box{clip(x - w, image_width), clip(y - h, image_height), clip(x + w, image_width),
                             clip(y + h, image_height)};
        if (box[2] - box[0] < double{a.least_side} || box[3] - box[1] < double{a.least_side}) continue;
        found.push_back({box, score, static_cast<std::size_t>(k), static_cast<std::size_t>(r * classes + k)});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& one, const auto& other) { return one.score > other.score; });
    std::vector<reference::DetectedObject> kept;
    for (const auto& one : found) {
      const bool covered = std::ranges::any_of(
          kept, [&](const auto& other) { return other.label == one.label && other.overlap(one) > double{a.overlap}; });
      if (!covered && kept.size() < static_cast<std::size_t>(a.per_image)) kept.push_back(one);
    }
    for (int i = 0; i < a.per_image; ++i) {
      const bool has_one = static_cast<std::size_t>(i) < kept.size();
      const auto one = has_one ? kept[static_cast<std::size_t>(i)] : reference::DetectedObject{};
      rows.insert(rows.end(), one.box.begin(), one.box.end());
      const double label = has_one ? static_cast<double>(one.label) : 0;
      rows.insert(rows.end(), {one.score, label - 1});
      logit_classes.push_back(label);
    }
  }
  return {rows, logit_classes};
}

OpCase make_case(DType dtype, const RegionDetectionAttributes& a, std::int64_t images, std::int64_t regions,
                 std::int64_t classes) {
  HostTensor boxes = random_tensor(DType::f32, Shape{images, regions, 6}, 1, 0, 40);
  for (std::size_t i = 0; i < boxes.values.size(); i += 6) {
    for (std::size_t k = 2; k < 4; ++k)
      boxes.values[i + k] = round_to(DType::f32, boxes.values[i + k - 2] + boxes.values[i + k] - 2);
  }
  return {.op = std::make_shared<DetectRegions>(a),
          .inputs = {boxes, random_tensor(dtype, Shape{images, regions, classes}, 2, -2, 2),
                     random_tensor(dtype, Shape{images, regions, classes * 4}, 3, -4, 4)},
          .reference = [a](const auto& in) { return reference(a, in); },
          .tolerance_scale = 4};
}

RegionDetectionAttributes attributes(float score, std::int32_t per_image) {
  RegionDetectionAttributes a;
  a.width = a.height = 48;
  a.score = score;
  a.per_image = per_image;
  return a;
}

TEST(DetectRegions, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, attributes(0.2f, 100), 2, 30, 4));
    check_op(make_case(dtype, attributes(0.05f, 10), 1, 50, 7));
  }
}

TEST(DetectRegions, TakesAllClassesWithoutALimitOfScores) {
  check_op(make_case(DType::f32, attributes(0, 200), 1, 20, 9));
}

TEST(DetectRegions, ClipsBoxesToTheirImages) {
  OpCase c = make_case(DType::f32, attributes(0.1f, 20), 2, 30, 4);
  c.inputs.push_back(tensor(DType::f32, Shape{2, placement_columns}, {64, 48, 24, 18, 0, 10, 60, 5, 30, 1}));
  check_op(c);
}

TEST(DetectRegions, FindsNothingInRegionsWithoutArea) {
  OpCase c = make_case(DType::f32, attributes(0.05f, 3), 1, 4, 3);
  std::ranges::fill(c.inputs[0].values, 7);
  const auto rows = run_op(c.op, c.inputs)[0];
  for (std::size_t i = 0; i < rows.values.size(); ++i) EXPECT_EQ(rows.values[i], i % 6 == 5 ? -1 : 0);
}

}  // namespace detect_regions_test
}  // namespace ptrain::testing
