#include "core/ops/training/accumulate.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class AccumulateKernel final : public Kernel {
 public:
  explicit AccumulateKernel(const KernelContext& context) : x_(context.inputs[Accumulate::x]) {}

  void run(const KernelArgs& args) override {
    auto* total = static_cast<float*>(args.inputs[Accumulate::total]);
    const bool restart = *static_cast<const std::int32_t*>(args.inputs[Accumulate::micro_step]) == 0;
    const auto* weights = static_cast<const float*>(args.inputs[Accumulate::weights]);
    const float weight = weights[0], factor = weights[1];
    visit_floating(x_.dtype, [&](auto zero) {
      const auto* x = static_cast<const decltype(zero)*>(args.inputs[Accumulate::x]);
      parallel_for(x_.count(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          total[i] = ((restart ? 0.0f : total[i]) + weight * static_cast<float>(x[i])) * factor;
        }
      });
    });
  }

 private:
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_accumulate(const KernelContext& context) {
  return std::make_unique<AccumulateKernel>(context);
}

}  // namespace ptrain::cpu
