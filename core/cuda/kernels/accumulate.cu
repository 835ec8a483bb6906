#include "core/ops/training/accumulate.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/elementwise.cuh"

namespace ptrain::cuda {
namespace {

/// The micro-step and the weights are read from inputs, so that a recorded step can be replayed with others.
struct AddToTotal {
  const std::int32_t* micro_step;
  const float* weights;
  __device__ float operator()(float total, float x) const {
    return ((*micro_step == 0 ? 0.0f : total) + weights[0] * x) * weights[1];
  }
};

class AccumulateKernel final : public Kernel {
 public:
  AccumulateKernel(const KernelContext& context, Device& device) : device_(device), x_(context.inputs[Accumulate::x]) {}

  void run(const KernelArgs& args) override {
    auto* total = static_cast<float*>(args.inputs[Accumulate::total]);
    const AddToTotal add{static_cast<const std::int32_t*>(args.inputs[Accumulate::micro_step]),
                         static_cast<const float*>(args.inputs[Accumulate::weights])};
    visit_floating(x_.dtype, [&](auto zero) {
      map_elements(device_, x_.count(), add, total, static_cast<const float*>(total),
                   static_cast<const decltype(zero)*>(args.inputs[Accumulate::x]));
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
