#include "core/ops/detection/roi_align.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/roi_align.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace roi_align_test {

constexpr double side_of_stride_16 = 224;  // px

/// Boxes of all sizes, inside maps, over their borders and outside of them.
HostTensor boxes(std::int64_t images, std::int64_t columns) {
  const std::vector<std::vector<double>> corners{{3, 5, 41, 33},
                                                 {10.5, 2.25, 10.75, 2.5},
                                                 {-9, 20, 15, 70},
                                                 {0, 0, 0, 0},
                                                 {20, 10, 20 + side_of_stride_16, 10 + side_of_stride_16},
                                                 {1, 4, 1 + side_of_stride_16 / 2, 4 + side_of_stride_16 / 2},
                                                 {30, 8, 260, 700}};
  HostTensor all = random_tensor(DType::f32, Shape{images, static_cast<std::int64_t>(corners.size()), columns}, 1);
  for (std::size_t row = 0; row < static_cast<std::size_t>(images) * corners.size(); ++row) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double shift = static_cast<double>(row / corners.size()) * 1.625;
      all.values[row * static_cast<std::size_t>(columns) + i] = corners[row % corners.size()][i] + shift;
    }
  }
  return all;
}

OpCase make_case(DType dtype, const RoiAlignAttributes& align, std::int64_t images, std::int64_t columns,
                 const std::vector<std::pair<int, int>>& sizes, std::int64_t channels) {
  OpCase c{.op = std::make_shared<RoiAlign>(align), .inputs = {boxes(images, columns)}};
  for (const auto& [height, width] : sizes) {
    c.inputs.push_back(random_tensor(dtype, Shape{images, height, width, channels}, c.inputs.size()));
    c.gradient_inputs.push_back(static_cast<int>(c.inputs.size()) - 1);
  }
  c.reference = [align](const auto& in) { return std::vector<std::vector<double>>{reference_roi_align(align, in)}; };
  return c;
}

TEST(RoiAlign, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, {{3, 4}, 3, 2}, 2, 4, {{12, 14}, {11, 9}, {5, 13}}, 1));
    check_op(make_case(dtype, {{1, 16}, 2, 2}, 1, 6, {{7, 5}}, 8));
    check_op(make_case(dtype, {{2, 8}, 4, 1}, 1, 5, {{4, 6}, {3, 1}}, 21));
  }
}

TEST(RoiAlign, ChoosesLevelsBySize) {
  const RoiLevels pyramid{4, 4};
  const auto choose = [&](float side) { return pyramid.choose({10, 20, 10 + side, 20 + side}); };
  EXPECT_EQ(choose(0), 0);
  EXPECT_EQ(choose(111), 0);
  EXPECT_EQ(choose(112), 1);
  EXPECT_EQ(choose(223.9f), 1);
  EXPECT_EQ(choose(224), 2);
  EXPECT_EQ(choose(448), 3);
  EXPECT_EQ(choose(4000), 3);
  EXPECT_EQ((RoiLevels{1, 16}.choose({0, 0, 900, 900})), 0);
}

TEST(RoiAlign, GivesAConstantMapBack) {
  OpCase c = make_case(DType::f32, {{1, 4}, 7, 2}, 1, 4, {{20, 20}}, 2);
  c.inputs[0] = tensor(DType::f32, Shape{1, 1, 4}, {8, 8, 60, 70});
  std::ranges::fill(c.inputs[1].values, 0.75);
  const std::vector<HostTensor> regions = run_op(c.op, c.inputs);
  for (const double value : regions[0].values) EXPECT_NEAR(value, 0.75, 1e-6);
}

TEST(RoiAlign, TakesAMapForEachLevel) {
  const RoiAlign op({{2, 4}, 7, 2});
  const TensorDesc boxes{DType::f32, {2, 3, 4}}, map{DType::f32, {2, 4, 4, 8}};
  EXPECT_NO_THROW(op.infer(std::vector{boxes, map, map}));
  EXPECT_THROW(op.infer(std::vector{boxes, map}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector{boxes, map, TensorDesc{DType::f32, {2, 4, 4, 7}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector{boxes, map, TensorDesc{DType::f32, {1, 4, 4, 8}}}), std::invalid_argument);
  EXPECT_THROW(op.infer(std::vector{TensorDesc{DType::f32, {2, 3, 3}}, map, map}), std::invalid_argument);
}

}  // namespace roi_align_test
}  // namespace ptrain::testing
