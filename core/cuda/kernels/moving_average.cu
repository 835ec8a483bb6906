#include "core/ops/training/moving_average.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/elementwise.cuh"
#include "core/ops/math/moving_average_math.h"

namespace ptrain::cuda {
namespace {

struct MoveTowards {
  float decay;
  const float* updates;
  __device__ float operator()(float average, float x) const {
    return average + moving_average_share(decay, *updates) * (x - average);
  }
};

class MovingAverageKernel final : public Kernel {
 public:
  MovingAverageKernel(const KernelContext& context, Device& device)
      : device_(device),
        count_(context.inputs[MovingAverage::x].count()),
        decay_(static_cast<const MovingAverage&>(context.op).decay()) {}

  void run(const KernelArgs& args) override {
    auto* average = static_cast<float*>(args.inputs[MovingAverage::average]);
    const MoveTowards move{decay_, static_cast<const float*>(args.inputs[MovingAverage::updates])};
    map_elements(device_, count_, move, average, static_cast<const float*>(average),
                 static_cast<const float*>(args.inputs[MovingAverage::x]));
  }

 private:
  Device& device_;
  std::int64_t count_;
  float decay_;
};

}  // namespace

std::unique_ptr<Kernel> make_moving_average(const KernelContext& context, Device& device) {
  return std::make_unique<MovingAverageKernel>(context, device);
}

}  // namespace ptrain::cuda
