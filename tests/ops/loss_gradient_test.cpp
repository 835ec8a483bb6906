#include "core/ops/training/loss_gradient.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace loss_gradient_test {

using namespace testing;

TEST(LossGradient, IsTheFactorTimesTheScale) {
  std::vector<HostTensor> scaled{tensor(DType::f32, {4}, {1024, 1, 2, 3})};
  EXPECT_EQ(run_op(std::make_shared<LossGradient>(0.25f), scaled).at(0).values, std::vector<double>{256});
  std::vector<HostTensor> unscaled{absent_tensor()};
  EXPECT_EQ(run_op(std::make_shared<LossGradient>(0.25f), unscaled).at(0).values, std::vector<double>{0.25});
}

}  // namespace loss_gradient_test
}  // namespace ptrain
