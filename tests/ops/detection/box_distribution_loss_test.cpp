#include "core/ops/detection/box_distribution_loss.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain::testing {
namespace box_distribution_loss_test {

using Sides = std::array<double, 4>;

double area(const Sides& box) { return (box[0] + box[2]) * (box[1] + box[3]); }

/// 1 - GIoU of two boxes, each by the distances of its sides from one point.
double lack_overlap(const Sides& a, const Sides& b) {
  Sides common, hull;
  for (std::size_t i = 0; i < common.size(); ++i) {
    common[i] = std::min(a[i], b[i]);
    hull[i] = std::max(a[i], b[i]);
  }
  const bool overlap = common[0] + common[2] > 0 && common[1] + common[3] > 0;
  const double shared = overlap ? area(common) : 0, both = area(a) + area(b) - shared;
  return 1 - (shared / both - (area(hull) - both) / area(hull));
}

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  const auto count = static_cast<std::size_t>(in[0].desc.shape[2] / 4);
  double overlap = 0, distribution = 0;
  for (std::size_t i = 0; i < in[2].values.size(); ++i) {
    if (in[2].values[i] == 0) continue;
    Sides box{}, wanted{};
    double entropies = 0;
    for (std::size_t side = 0; side < 4; ++side) {
      const double* bins = in[0].values.data() + (4 * i + side) * count;
      wanted[side] = in[1].values[4 * i + side];
      double sum = 0;
      for (std::size_t k = 0; k < count; ++k) sum += std::exp(bins[k]);
      for (std::size_t k = 0; k < count; ++k) box[side] += static_cast<double>(k) * std::exp(bins[k]) / sum;
      const double inside = std::clamp(wanted[side], 0.0, static_cast<double>(count) - 1.01);
      const auto below = static_cast<std::size_t>(inside);
      const double above = inside - std::floor(inside);
      entropies -=
          (1 - above) * std::log(std::exp(bins[below]) / sum) + above * std::log(std::exp(bins[below + 1]) / sum);
    }
    overlap += in[2].values[i] * lack_overlap(box, wanted);
    distribution += in[2].values[i] * entropies / 4;
  }
  return {{overlap}, {distribution}};
}

OpCase make_case(DType dtype, std::int64_t images, std::int64_t anchors, std::int64_t bins) {
  OpCase c;
  c.op = std::make_shared<BoxDistributionLoss>();
  HostTensor weights = random_tensor(DType::f32, Shape{images, anchors}, 3, 0, 1);
  for (std::size_t i = 0; i < weights.values.size(); i += 3) weights.values[i] = 0;
  // Some wanted sides are on the other side of the point, and some farther away than the last bin.
  c.inputs = {random_tensor(dtype, Shape{images, anchors, 4 * bins}, 1, -3, 3),
              random_tensor(DType::f32, Shape{images, anchors, 4}, 2, -0.4, static_cast<double>(bins) + 0.5), weights};
  c.reference = reference;
  c.gradient_inputs = {BoxDistributionLoss::bins};
  c.gradient_outputs = {BoxDistributionLoss::overlap, BoxDistributionLoss::distribution};
  return c;
}

TEST(BoxDistributionLoss, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, 2, 4, 5));
    check_op(make_case(dtype, 1, 3, 17));
  }
}

TEST(BoxDistributionLoss, HasTheGradientOfEitherLossAlone) {
  for (const int output : {BoxDistributionLoss::overlap, BoxDistributionLoss::distribution}) {
    OpCase c = make_case(DType::f32, 1, 5, 4);
    c.gradient_outputs = {output};
    check_op(c);
  }
}

TEST(BoxDistributionLoss, SumsManyBoxes) {
  OpCase c = make_case(DType::f32, 3, 1000, 3);
  const auto expected = c.reference(c.inputs);
  const auto sums = run_op(c.op, c.inputs);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(sums[i].values[0], expected[i][0], 1e-5 * expected[i][0]);
}

TEST(BoxDistributionLoss, BoxesOfWeightZeroCountNowhere) {
  OpCase c = make_case(DType::f32, 1, 4, 3);
  c.inputs[0].values[0] = std::nan("");  // of the first box, whose weight is 0
  const auto sums = run_op(c.op, c.inputs);
  EXPECT_TRUE(std::isfinite(sums[0].values[0]) && std::isfinite(sums[1].values[0]));
  const std::vector<HostTensor> ones(2, tensor(DType::f32, Shape{}, {1}));
  const auto gradient = run_gradient(c, ones)[0].values;
  for (const double value : gradient) EXPECT_TRUE(std::isfinite(value));
}

TEST(BoxDistributionLoss, EqualBoxesHaveNoOverlapLoss) {
  constexpr double low = -1e3, high = 1e3;  // distances 1, 2, 1 and 2, for certain
  std::vector<HostTensor> inputs{
      tensor(DType::f32, Shape{1, 1, 12}, {low, high, low, low, low, high, low, high, low, low, low, high}),
      tensor(DType::f32, Shape{1, 1, 4}, {1, 2, 1, 2}), tensor(DType::f32, Shape{1, 1}, {1})};
  EXPECT_NEAR(run_op(std::make_shared<BoxDistributionLoss>(), inputs)[0].values[0], 0, 1e-6);
}

}  // namespace box_distribution_loss_test
}  // namespace ptrain::testing
