#include "core/ops/training/moving_average.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/elementwise.cuh"

namespace ptrain::cuda {
namespace {

struct MoveTowards {
  float share;  // weight of the new values
  __device__ float operator()(float average, float x) const { return average + share * (x - average); }
};

class MovingAverageKernel final : public Kernel {
 public:
  MovingAverageKernel(const KernelContext& context, Device& device)
      : device_(device),
        count_(context.inputs[MovingAverage::x].count()),
        move_{1.0f - static_cast<const MovingAverage&>(context.op).decay()} {}

  void run(const KernelArgs& args) override {
    auto* average = static_cast<float*>(args.inputs[MovingAverage::average]);
    map_elements(device_, count_, move_, average, static_cast<const float*>(average),
                 static_cast<const float*>(args.inputs[MovingAverage::x]));
  }

 private:
  Device& device_;
  std::int64_t count_;
  MoveTowards move_;
};

}  // namespace

std::unique_ptr<Kernel> make_moving_average(const KernelContext& context, Device& device) {
  return std::make_unique<MovingAverageKernel>(context, device);
}

}  // namespace ptrain::cuda
