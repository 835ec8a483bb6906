#include "core/ops/training/accumulate.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <array>

namespace ptrain {
namespace accumulate_test {

using namespace testing;

TEST(Accumulate, StartsAfreshAtMicroStepZeroAndAddsByWeightAfterwards) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const auto& [micro_step, weight, factor] :
         {std::array{0.0, 1.0, 1.0}, {1.0, 1.0, 1.0}, {0.0, 0.5, 1.0}, {3.0, 0.25, 1.5}}) {
      const HostTensor total = random_tensor(DType::f32, {40001}, 1), x = random_tensor(dtype, {40001}, 2);
      std::vector<HostTensor> inputs{total, x, tensor(DType::i32, {1}, {micro_step}),
                                     tensor(DType::f32, {2}, {weight, factor})};
      run_op(std::make_shared<Accumulate>(), inputs);
      std::vector<double> expected = x.values;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] = ((micro_step > 0 ? total.values[i] : 0) + weight * expected[i]) * factor;
      }
      expect_close(inputs[0].values, expected, tolerance(DType::f32), "total");
    }
  }
}

}  // namespace accumulate_test
}  // namespace ptrain
