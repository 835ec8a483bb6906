#include "core/ops/training/grad_norm.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ptrain {
namespace grad_norm_test {

using namespace testing;

std::vector<double> get_norm(const HostTensor& grad, const HostTensor& low, const HostTensor& scale) {
  std::vector<HostTensor> inputs{grad, low, scale};
  return run_op(std::make_shared<GradNorm>(), inputs).at(0).values;
}

TEST(GradNorm, IsTheUnscaledNormOfBothBuffers) {
  const HostTensor grad = random_tensor(DType::f32, {200003}, 1);
  const HostTensor scale = tensor(DType::f32, {4}, {8, 0, 0, 0});
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const HostTensor low = random_tensor(dtype, {131}, 2);
    double squares = 0;
    for (const double v : grad.values) squares += v * v;
    const double alone = std::sqrt(squares);
    for (const double v : low.values) squares += v * v;
    const std::vector<double> both = get_norm(grad, low, scale);
    EXPECT_NEAR(both[0], std::sqrt(squares) / 8, 1e-5 * std::sqrt(squares));
    EXPECT_EQ(both[1], 0.0);
    EXPECT_NEAR(get_norm(grad, absent_tensor(), absent_tensor())[0], alone, 1e-5 * alone);
  }
}

TEST(GradNorm, FlagsAnyElementThatIsNotFinite) {
  for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{70000}, std::size_t{99999}}) {
      HostTensor grad = random_tensor(DType::f32, {100000}, 1);
      grad.values[place] = bad;
      EXPECT_EQ(get_norm(grad, absent_tensor(), absent_tensor())[1], 1.0);
    }
    EXPECT_EQ(get_norm(absent_tensor(), tensor(DType::f16, {3}, {1, bad, 1}), absent_tensor())[1], 1.0);
  }
}

TEST(GradNorm, LargeFiniteGradientsAreNoOverflow) {
  EXPECT_EQ(get_norm(tensor(DType::f32, {2}, {1e30, 1e30}), absent_tensor(), absent_tensor())[1], 0.0);
}

/// Norms of parts, with or without another one, are those of the whole.
TEST(NormOfParts, IsTheNormOfThemTogether) {
  std::vector<HostTensor> parts{tensor(DType::f32, {6}, {3, 0, 0, 0, 4, 0}), absent_tensor()};
  const auto of_parts = [&] { return run_op(std::make_shared<NormOfParts>(), parts).at(0).values; };
  EXPECT_EQ(of_parts(), (std::vector<double>{5, 0}));
  parts[1] = tensor(DType::f32, {2}, {12, 0});
  EXPECT_EQ(of_parts(), (std::vector<double>{13, 0}));
  parts[0].values[3] = 1;
  EXPECT_EQ(of_parts()[1], 1.0);
  parts[0] = tensor(DType::f32, {4}, {3e25, 0, 4e25, 0});
  EXPECT_NEAR(of_parts()[0], 5e25, 1e19) << "the squares are beyond fp32";
}

}  // namespace grad_norm_test
}  // namespace ptrain
