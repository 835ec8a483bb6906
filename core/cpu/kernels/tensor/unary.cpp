#include "core/ops/tensor/unary.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/tensor/pointwise_kernel.h"

namespace ptrain::cpu {
namespace {

template <typename Math>
void unary_values(const float* const* inputs, float* y, std::int64_t count, PointwiseConstants constants) {
  const float* x = inputs[0];
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = Math::value(x[i], constants);
}

template <typename Math>
void unary_gradients(const float* const* inputs, float* dx, std::int64_t count, PointwiseConstants constants) {
  const float *dy = inputs[UnaryGrad::dy], *saved = inputs[UnaryGrad::saved];
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = Math::gradient(dy[i], saved[i], constants);
}

}  // namespace

LoopWithConstants unary_loop(const ptrain::Op& op) {
  const bool is_gradient = op.kernel() == "unary_grad";
  const UnaryAttributes& attributes =
      is_gradient ? static_cast<const UnaryGrad&>(op).attrs() : static_cast<const Unary&>(op).attrs();
  LoopWithConstants result{nullptr, attributes.constants};
  visit_unary(attributes.function, [&](auto math) {
    using Math = decltype(math);
    result.loop = is_gradient ? unary_gradients<Math> : unary_values<Math>;
  });
  return result;
}

std::unique_ptr<Kernel> make_unary(const KernelContext& context) { return std::make_unique<PointwiseKernel>(context); }
std::unique_ptr<Kernel> make_unary_grad(const KernelContext& context) {
  return std::make_unique<PointwiseKernel>(context);
}

}  // namespace ptrain::cpu
