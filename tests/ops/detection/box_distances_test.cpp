#include "core/ops/detection/box_distances.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace box_distances_test {

std::vector<std::vector<double>> reference(const std::vector<HostTensor>& in) {
  const auto count = static_cast<std::size_t>(in[0].desc.shape[2] / 4);
  std::vector<double> means;
  for (std::size_t i = 0; i < in[0].values.size(); i += count) {
    double sum = 0, moment = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double part = std::exp(in[0].values[i + k]);
      sum += part;
      moment += part * static_cast<double>(k);
    }
    means.push_back(moment / sum);
  }
  return {means};
}

TEST(BoxDistances, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op({.op = std::make_shared<BoxDistances>(),
              .inputs = {random_tensor(dtype, Shape{2, 45, 68}, 1, -6, 6)},
              .reference = reference});
    check_op({.op = std::make_shared<BoxDistances>(),
              .inputs = {random_tensor(dtype, Shape{1, 1, 8}, 2, -1, 1)},
              .reference = reference});
  }
}

TEST(BoxDistances, StaysFiniteForBinsOfAnySize) {
  std::vector<HostTensor> inputs{tensor(DType::f32, Shape{1, 1, 8}, {3e38, 0, 0, 3e38, -3e38, -3e38, 90, 90})};
  EXPECT_EQ(run_op(std::make_shared<BoxDistances>(), inputs)[0].values, (std::vector<double>{0, 1, 0.5, 0.5}));
}

}  // namespace box_distances_test
}  // namespace ptrain::testing
