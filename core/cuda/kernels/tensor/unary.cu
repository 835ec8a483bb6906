#include "core/ops/tensor/unary.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/tensor/pointwise_kernel.cuh"

namespace ptrain::cuda {
namespace {

template <typename Math>
struct UnaryValue {
  PointwiseConstants constants;
  __device__ float operator()(float x) const { return Math::value(x, constants); }
};

template <typename Math>
struct UnaryDerivative {
  PointwiseConstants constants;
  __device__ float operator()(float dy, float saved) const { return Math::gradient(dy, saved, constants); }
};

}  // namespace

std::unique_ptr<Kernel> make_unary(const KernelContext& context, Device& device) {
  const UnaryAttributes& attributes = context.op_as<Unary>().attrs();
  std::unique_ptr<Kernel> kernel;
  visit_unary(attributes.function, [&](auto math) {
    const UnaryValue<decltype(math)> function{attributes.constants};
    kernel = std::make_unique<PointwiseKernel<UnaryValue<decltype(math)>, 1>>(context, device, function);
  });
  return kernel;
}

std::unique_ptr<Kernel> make_unary_grad(const KernelContext& context, Device& device) {
  const UnaryAttributes& attributes = context.op_as<UnaryGrad>().attrs();
  std::unique_ptr<Kernel> kernel;
  visit_unary(attributes.function, [&](auto math) {
    const UnaryDerivative<decltype(math)> function{attributes.constants};
    kernel = std::make_unique<PointwiseKernel<UnaryDerivative<decltype(math)>, 2>>(context, device, function);
  });
  return kernel;
}

}  // namespace ptrain::cuda
