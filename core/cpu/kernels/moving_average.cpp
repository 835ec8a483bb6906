#include "core/ops/training/moving_average.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class MovingAverageKernel final : public Kernel {
 public:
  explicit MovingAverageKernel(const KernelContext& context)
      : count_(context.inputs[MovingAverage::x].count()),
        share_(1.0f - static_cast<const MovingAverage&>(context.op).decay()) {}

  void run(const KernelArgs& args) override {
    auto* average = static_cast<float*>(args.inputs[MovingAverage::average]);
    const auto* x = static_cast<const float*>(args.inputs[MovingAverage::x]);
    parallel_for(count_, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) average[i] += share_ * (x[i] - average[i]);
    });
  }

 private:
  std::int64_t count_;
  float share_;  // weight of the new values
};

}  // namespace

std::unique_ptr<Kernel> make_moving_average(const KernelContext& context) {
  return std::make_unique<MovingAverageKernel>(context);
}

}  // namespace ptrain::cpu
