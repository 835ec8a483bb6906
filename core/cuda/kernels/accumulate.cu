#include "core/ops/training/accumulate.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/elementwise.cuh"

namespace ptrain::cuda {
namespace {

/// The micro-step is read from its input, so that a recorded step can be replayed with another one.
struct AddToTotal {
  const std::int32_t* micro_step;
  __device__ float operator()(float total, float x) const { return (*micro_step == 0 ? 0.0f : total) + x; }
};

class AccumulateKernel final : public Kernel {
 public:
  AccumulateKernel(const KernelContext& context, Device& device) : device_(device), x_(context.inputs[1]) {}

  void run(const KernelArgs& args) override {
    auto* total = static_cast<float*>(args.inputs[0]);
    const AddToTotal add{static_cast<const std::int32_t*>(args.inputs[2])};
    visit_floating(x_.dtype, [&](auto zero) {
      map_elements(device_, x_.count(), add, total, static_cast<const float*>(total),
                   static_cast<const decltype(zero)*>(args.inputs[1]));
    });
  }

 private:
  Device& device_;
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_accumulate(const KernelContext& context, Device& device) {
  return std::make_unique<AccumulateKernel>(context, device);
}

}  // namespace ptrain::cuda
