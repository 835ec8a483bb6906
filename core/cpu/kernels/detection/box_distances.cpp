#include "core/ops/detection/box_distances.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/box_distribution.h"

namespace ptrain::cpu {
namespace {

class BoxDistancesKernel final : public Kernel {
 public:
  explicit BoxDistancesKernel(const KernelContext& context) : bins_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t count = bins_.shape[2] / box_sides;
    auto* distances = static_cast<float*>(args.outputs[0]);
    visit_floating(bins_.dtype, [&](auto zero) {
      const auto* bins = static_cast<const decltype(zero)*>(args.inputs[0]);
      parallel_for(bins_.count() / count, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const auto load = [&](std::int64_t k) { return static_cast<float>(bins[i * count + k]); };
          distances[i] = describe_side(count, load).mean;
        }
      });
    });
  }

 private:
  TensorDesc bins_;
};

}  // namespace

std::unique_ptr<Kernel> make_box_distances(const KernelContext& context) {
  return std::make_unique<BoxDistancesKernel>(context);
}

}  // namespace ptrain::cpu
