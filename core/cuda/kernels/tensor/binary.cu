#include "core/ops/tensor/binary.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/tensor/pointwise_kernel.cuh"

namespace ptrain::cuda {
namespace {

template <typename Math>
struct BinaryValue {
  __device__ float operator()(float a, float b) const { return Math::value(a, b); }
};

template <typename Math, Operand operand>
struct BinaryDerivative {
  __device__ float operator()(float dy, float a, float b) const {
    if constexpr (operand == Operand::a) {
      return Math::gradient_a(dy, a, b);
    } else {
      return Math::gradient_b(dy, a, b);
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_binary(const KernelContext& context, Device& device) {
  std::unique_ptr<Kernel> kernel;
  visit_binary(context.op_as<Binary>().function(), [&](auto math) {
    using Value = BinaryValue<decltype(math)>;
    kernel = std::make_unique<PointwiseKernel<Value, 2>>(context, device, Value{});
  });
  return kernel;
}

std::unique_ptr<Kernel> make_binary_grad(const KernelContext& context, Device& device) {
  const auto& op = context.op_as<BinaryGrad>();
  std::unique_ptr<Kernel> kernel;
  visit_binary(op.function(), [&](auto math) {
    using OfA = BinaryDerivative<decltype(math), Operand::a>;
    using OfB = BinaryDerivative<decltype(math), Operand::b>;
    if (op.operand() == Operand::a) {
      kernel = std::make_unique<PointwiseKernel<OfA, 3>>(context, device, OfA{});
    } else {
      kernel = std::make_unique<PointwiseKernel<OfB, 3>>(context, device, OfB{});
    }
  });
  return kernel;
}

}  // namespace ptrain::cuda
