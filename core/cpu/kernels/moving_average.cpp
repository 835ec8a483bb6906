#include "core/ops/training/moving_average.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/moving_average_math.h"

namespace ptrain::cpu {
namespace {

class MovingAverageKernel final : public Kernel {
 public:
  explicit MovingAverageKernel(const KernelContext& context)
      : count_(context.inputs[MovingAverage::x].count()),
        decay_(static_cast<const MovingAverage&>(context.op).decay()) {}

  void run(const KernelArgs& args) override {
    auto* average = static_cast<float*>(args.inputs[MovingAverage::average]);
    const auto* x = static_cast<const float*>(args.inputs[MovingAverage::x]);
    const float share = moving_average_share(decay_, *static_cast<const float*>(args.inputs[MovingAverage::updates]));
    parallel_for(count_, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) average[i] += share * (x[i] - average[i]);
    });
  }

 private:
  std::int64_t count_;
  float decay_;
};

}  // namespace

std::unique_ptr<Kernel> make_moving_average(const KernelContext& context) {
  return std::make_unique<MovingAverageKernel>(context);
}

}  // namespace ptrain::cpu
