#include "core/ops/detection/detect_objects.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/detect_objects.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace detect_objects_test {

/// Levels of strides 8, 16, ... over an image, with boxes of several sizes at each location.
DetectionAttributes attributes(int levels, int side) {
  DetectionAttributes a;
  a.width = a.height = static_cast<float>(side);
  a.anchors.levels = levels;
  std::int64_t next = 0;
  for (int i = 0; i < levels; ++i) {
    AnchorLevel& level = a.anchors.level[i];
    level.first = next;
    level.stride_x = level.stride_y = 8 << i;
    level.rows = level.columns = side / level.stride_x;
    level.per_location = 9;
    for (int shape = 0; shape < level.per_location; ++shape) {
      const auto x = static_cast<float>((4 + shape) << i), y = static_cast<float>((12 - shape) << i);
      level.shapes[shape] = {-x, -y, x, y};
    }
    next += level.count();
  }
  return a;
}

OpCase make_case(DType dtype, const DetectionAttributes& a, std::int64_t images, std::int64_t classes, double low,
                 double high) {
  OpCase c;
  c.op = std::make_shared<DetectObjects>(a);
  const std::int64_t anchors = a.anchors.count();
  c.inputs = {random_tensor(dtype, Shape{images, anchors, classes}, 1, low, high),
              random_tensor(dtype, Shape{images, anchors, 4}, 2, -0.5, 0.5)};
  c.reference = [a, anchors, classes](const std::vector<HostTensor>& in) {
    std::vector<std::vector<double>> all(1);
    const auto logits = static_cast<std::size_t>(anchors * classes), deltas = static_cast<std::size_t>(anchors * 4);
    for (std::size_t n = 0; n < in[0].values.size() / logits; ++n) {
      DetectionAttributes own = a;
      if (in.size() > DetectObjects::placements) {
        const double* placement = in[DetectObjects::placements].values.data() + n * placement_columns;
        own.width = static_cast<float>(placement[2]), own.height = static_cast<float>(placement[3]);
      }
      const std::vector<double> rows = reference::detect_objects(
          own, in[0].values.data() + n * logits, in[1].values.data() + n * deltas, static_cast<std::size_t>(classes));
      all[0].insert(all[0].end(), rows.begin(), rows.end());
    }
    return all;
  };
  return c;
}

TEST(DetectObjects, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, attributes(1, 16), 1, 1, -4, 2));
    check_op(make_case(dtype, attributes(3, 32), 2, 3, -6, 1));
  }
}

TEST(DetectObjects, TakesTheBestOfEachLevelAndKeepsTheBestOfAll) {
  DetectionAttributes a = attributes(3, 64);
  a.per_level = 40;
  a.per_image = 30;
  a.overlap = 0.9f;
  check_op(make_case(DType::f32, a, 2, 5, -5, 5));
  a.per_level = 1024;
  check_op(make_case(DType::f32, a, 1, 5, -5, 5));
}

TEST(DetectObjects, OrdersEqualScoresByPosition) {
  DetectionAttributes a = attributes(2, 32);
  a.per_level = 7;
  a.per_image = 9;
  OpCase c = make_case(DType::f32, a, 1, 2, 0, 1);
  for (double& logit : c.inputs[0].values) logit = logit < 0.5 ? 0 : 1;
  check_op(c);
}

TEST(DetectObjects, ProposesRegionsOfEachLevel) {
  DetectionAttributes a = attributes(3, 32);
  a.score = -1;
  a.per_level = 60;
  a.per_image = 90;
  a.least_side = 5;
  a.within = SuppressWithin::levels;
  check_op(make_case(DType::f32, a, 2, 1, -120, 20));
  a.overlap = 0.3f;
  check_op(make_case(DType::f32, a, 1, 1, -5, 5));
}

TEST(DetectObjects, TakesTheDistancesOfSides) {
  DetectionAttributes a = attributes(2, 32);
  a.form = BoxForm::distances;
  a.overlap = 0.7f;
  check_op(make_case(DType::f32, a, 2, 3, -6, 1));
}

TEST(DetectObjects, ClipsBoxesToTheirImages) {
  OpCase c = make_case(DType::f32, attributes(2, 32), 2, 2, -6, 1);
  c.inputs.push_back(tensor(DType::f32, Shape{2, placement_columns}, {64, 48, 24, 18, 0, 10, 60, 5, 30, 1}));
  check_op(c);
}

TEST(DetectObjects, FindsNothingBelowTheScoreNorNaN) {
  OpCase c = make_case(DType::f32, attributes(1, 16), 1, 2, -9, -4);
  c.inputs[0].values[3] = std::nan("");
  const auto rows = run_op(c.op, c.inputs)[0];
  for (std::size_t i = 0; i < rows.values.size(); ++i) EXPECT_EQ(rows.values[i], i % 6 == 5 ? -1 : 0);
}

TEST(DetectObjects, KeepsOverlappingObjectsOfDifferentClasses) {
  DetectionAttributes a = attributes(1, 8);
  OpCase c = make_case(DType::f32, a, 1, 2, -9, -8);
  std::ranges::fill(c.inputs[1].values, 0);
  c.inputs[0].values[0] = 3;      // anchor 0, class 0
  c.inputs[0].values[1] = 2;      // anchor 0, class 1
  c.inputs[0].values[2 * 1] = 1;  // anchor 1, class 0, over anchor 0
  const auto rows = run_op(c.op, c.inputs)[0];
  EXPECT_EQ(rows.values[5], 0);
  EXPECT_EQ(rows.values[11], 1);
  EXPECT_EQ(rows.values[17], -1);
}

}  // namespace detect_objects_test
}  // namespace ptrain::testing
