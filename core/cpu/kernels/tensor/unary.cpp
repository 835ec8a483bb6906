#include "core/ops/tensor/unary.h"

#include "core/cpu/kernels.h"
#include "core/cpu/kernels/tensor/pointwise_kernel.h"

namespace ptrain::cpu {
namespace {

template <typename Math>
void value_loop(const float* const* inputs, float* y, std::int64_t count, PointwiseConstants constants) {
  const float* x = inputs[0];
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = Math::value(x[i], constants);
}

template <typename Math>
void gradient_loop(const float* const* inputs, float* dx, std::int64_t count, PointwiseConstants constants) {
  const float *dy = inputs[UnaryGrad::dy], *saved = inputs[UnaryGrad::saved];
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = Math::gradient(dy[i], saved[i], constants);
}

}  // namespace

std::unique_ptr<Kernel> make_unary(const KernelContext& context) {
  const UnaryAttributes& attributes = context.op_as<Unary>().attrs();
  PointwiseLoop loop = nullptr;
  visit_unary(attributes.function, [&](auto math) { loop = value_loop<decltype(math)>; });
  return std::make_unique<PointwiseKernel>(context, loop, attributes.constants);
}

std::unique_ptr<Kernel> make_unary_grad(const KernelContext& context) {
  const UnaryAttributes& attributes = context.op_as<UnaryGrad>().attrs();
  PointwiseLoop loop = nullptr;
  visit_unary(attributes.function, [&](auto math) { loop = gradient_loop<decltype(math)>; });
  return std::make_unique<PointwiseKernel>(context, loop, attributes.constants);
}

}  // namespace ptrain::cpu
