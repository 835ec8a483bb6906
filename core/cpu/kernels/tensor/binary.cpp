#include "core/ops/tensor/binary.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/pointwise_kernel.h"

namespace ptrain::cpu {
namespace {

template <typename Math>
void binary_values(const float* const* inputs, float* y, std::int64_t count, PointwiseConstants) {
  const float *a = inputs[Binary::a], *b = inputs[Binary::b];
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = Math::value(a[i], b[i]);
}

template <typename Math, Operand operand>
void binary_gradients(const float* const* inputs, float* dx, std::int64_t count, PointwiseConstants) {
  const float *dy = inputs[BinaryGrad::dy], *a = inputs[BinaryGrad::a], *b = inputs[BinaryGrad::b];
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (operand == Operand::a) dx[i] = Math::gradient_a(dy[i], a[i], b[i]);
    if constexpr (operand == Operand::b) dx[i] = Math::gradient_b(dy[i], a[i], b[i]);
  }
}

}  // namespace

LoopWithConstants binary_loop(const ptrain::Op& op) {
  LoopWithConstants result{nullptr};
  if (op.kernel() == "binary") {
    visit_binary(static_cast<const Binary&>(op).function(),
                 [&](auto math) { result.loop = binary_values<decltype(math)>; });
    return result;
  }
  const auto& gradient = static_cast<const BinaryGrad&>(op);
  visit_binary(gradient.function(), [&](auto math) {
    using Math = decltype(math);
    result.loop =
        gradient.operand() == Operand::a ? binary_gradients<Math, Operand::a> : binary_gradients<Math, Operand::b>;
  });
  return result;
}

std::unique_ptr<Kernel> make_binary(const KernelContext& context) { return std::make_unique<PointwiseKernel>(context); }
std::unique_ptr<Kernel> make_binary_grad(const KernelContext& context) {
  return std::make_unique<PointwiseKernel>(context);
}

}  // namespace ptrain::cpu
