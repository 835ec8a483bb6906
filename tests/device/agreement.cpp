#include "tests/device/agreement.h"

#include "core/cpu/cpu_backend.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ptrain::testing {

TestBackend on_cpu() {
  return {[] { return cpu::make_backend(); }, {}};
}

void expect_agreement(const OpCase& c, DType dtype, const TestBackend& on) {
  SCOPED_TRACE(fmt::format("{} {} in {}, first input {}", c.op->type(), c.op->attributes(), to_string(dtype),
                           c.inputs.front().desc.to_string()));
  std::vector<HostTensor> cpu_inputs = c.inputs, cuda_inputs = c.inputs;
  const std::vector<HostTensor> expected = run_op(c.op, cpu_inputs, on_cpu()), actual = run_op(c.op, cuda_inputs, on);
  const double limit = tolerance(dtype) * c.tolerance_scale;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(actual[i].values, expected[i].values, limit, fmt::format("output {}", i));
  }
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.op->mutates_input(static_cast<int>(i))) continue;
    expect_close(cuda_inputs[i].values, cpu_inputs[i].values, limit, fmt::format("input {} written in place", i));
  }
  if (c.gradient_inputs.empty()) return;
  std::vector<HostTensor> seeds;
  for (const int output : c.gradient_outputs) {
    const TensorDesc& desc = expected[static_cast<std::size_t>(output)].desc;
    seeds.push_back(random_tensor(desc.dtype, desc.shape, 977));
  }
  const std::vector<HostTensor> expected_gradients = run_gradient(c, seeds, on_cpu()),
                                gradients = run_gradient(c, seeds, on);
  ASSERT_EQ(gradients.size(), expected_gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    expect_close(gradients[i].values, expected_gradients[i].values, 4 * limit, fmt::format("gradient {}", i));
  }
}

}  // namespace ptrain::testing
