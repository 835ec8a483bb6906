#include "core/ops/activation.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/elementwise.cuh"
#include "core/ops/math/activation_math.h"

namespace ptrain::cuda {
namespace {

template <Activation kind>
struct Activate {
  __device__ float operator()(float x) const { return activate<kind>(x); }
};
template <Activation kind>
struct Differentiate {
  __device__ float operator()(float saved, float dy) const { return activation_gradient<kind>(dy, saved); }
};

class ActivationKernel final : public Kernel {
 public:
  ActivationKernel(const KernelContext& context, Device& device)
      : device_(device), activation_(context.op_as<ActivationOp>().activation()), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_activation(activation_, [&](auto kind) {
      visit_floating(x_.dtype, [&](auto zero) {
        using T = decltype(zero);
        map_elements(device_, x_.count(), Activate<decltype(kind)::value>{}, static_cast<T*>(args.outputs[0]),
                     static_cast<const T*>(args.inputs[0]));
      });
    });
  }

 private:
  Device& device_;
  Activation activation_;
  TensorDesc x_;
};

class ActivationGradKernel final : public Kernel {
 public:
  ActivationGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        activation_(context.op_as<ActivationGrad>().activation()),
        saved_dtype_(context.inputs[0].dtype),
        dy_(context.inputs[1]) {}

  void run(const KernelArgs& args) override {
    visit_activation(activation_, [&](auto kind) {
      visit_floating2(saved_dtype_, dy_.dtype, [&](auto saved_zero, auto zero) {
        using T = decltype(zero);
        map_elements(device_, dy_.count(), Differentiate<decltype(kind)::value>{}, static_cast<T*>(args.outputs[0]),
                     static_cast<const decltype(saved_zero)*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
      });
    });
  }

 private:
  Device& device_;
  Activation activation_;
  DType saved_dtype_;
  TensorDesc dy_;
};

}  // namespace

std::unique_ptr<Kernel> make_activation(const KernelContext& context, Device& device) {
  return std::make_unique<ActivationKernel>(context, device);
}
std::unique_ptr<Kernel> make_activation_grad(const KernelContext& context, Device& device) {
  return std::make_unique<ActivationGradKernel>(context, device);
}

}  // namespace ptrain::cuda
