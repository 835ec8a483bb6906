#include "core/ops/elementwise.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/primitives/convert.h"
#include "core/cuda/primitives/elementwise.cuh"

namespace ptrain::cuda {
namespace {

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Product {
  float factor;
  __device__ float operator()(float x) const { return x * factor; }
};

class AddKernel final : public Kernel {
 public:
  AddKernel(const KernelContext& context, Device& device) : device_(device), desc_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(desc_.dtype, [&](auto zero) {
      using T = decltype(zero);
      map_elements(device_, desc_.count(), Sum{}, static_cast<T*>(args.outputs[0]),
                   static_cast<const T*>(args.inputs[0]), static_cast<const T*>(args.inputs[1]));
    });
  }

 private:
  Device& device_;
  TensorDesc desc_;
};

class ScaleKernel final : public Kernel {
 public:
  ScaleKernel(const KernelContext& context, Device& device)
      : device_(device), factor_(context.op_as<Scale>().factor()), desc_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(desc_.dtype, [&](auto zero) {
      using T = decltype(zero);
      map_elements(device_, desc_.count(), Product{factor_}, static_cast<T*>(args.outputs[0]),
                   static_cast<const T*>(args.inputs[0]));
    });
  }

 private:
  Device& device_;
  float factor_;
  TensorDesc desc_;
};

class CastKernel final : public Kernel {
 public:
  CastKernel(const KernelContext& context, Device& device)
      : device_(device), from_(context.inputs[0]), to_(context.outputs[0].dtype) {}

  void run(const KernelArgs& args) override {
    if (from_.dtype == to_) {
      CUDA_CHECK(
          cudaMemcpyAsync(args.outputs[0], args.inputs[0], from_.bytes(), cudaMemcpyDeviceToDevice, device_.stream()));
      return;
    }
    convert(device_, from_.dtype, args.inputs[0], to_, args.outputs[0], from_.count());
  }

 private:
  Device& device_;
  TensorDesc from_;
  DType to_;
};

}  // namespace

std::unique_ptr<Kernel> make_add(const KernelContext& context, Device& device) {
  return std::make_unique<AddKernel>(context, device);
}
std::unique_ptr<Kernel> make_cast(const KernelContext& context, Device& device) {
  return std::make_unique<CastKernel>(context, device);
}
std::unique_ptr<Kernel> make_scale(const KernelContext& context, Device& device) {
  return std::make_unique<ScaleKernel>(context, device);
}

}  // namespace ptrain::cuda
