// A hash table in the workspace finds the first occurrence of every id in one pass: its cost is that of the additions,
// and the order does not depend on the number of threads.
#include "core/ops/sparse/sparse_gradient.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/first_places.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

class SparseGradientKernel final : public Kernel {
 public:
  explicit SparseGradientKernel(const KernelContext& context)
      : count_(context.outputs[SparseGradient::values].shape[0]),
        width_(context.outputs[SparseGradient::values].shape[1]),
        in_bag_(count_ * width_ / context.inputs[SparseGradient::dy].count()),
        slots_(FirstPlaces::slots_for(count_)) {}

  std::size_t workspace_bytes() const override { return slots_ * sizeof(std::int32_t); }

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[SparseGradient::ids]);
    const auto* dy = static_cast<const float*>(args.inputs[SparseGradient::dy]);
    auto* rows = static_cast<std::int32_t*>(args.outputs[SparseGradient::rows]);
    auto* values = static_cast<float*>(args.outputs[SparseGradient::values]);
    FirstPlaces first_places(static_cast<std::int32_t*>(args.workspace), slots_);
    std::memset(values, 0, static_cast<std::size_t>(count_ * width_) * sizeof(float));
    for (std::int64_t i = 0; i < count_; ++i) {
      rows[i] = -1;
      if (ids[i] < 0) continue;
      const std::int32_t first = first_places(ids, static_cast<std::int32_t>(i));
      if (first == i) rows[i] = ids[i];
      const float* from = dy + i / in_bag_ * width_;
      float* sum = values + first * width_;
      for (std::int64_t c = 0; c < width_; ++c) sum[c] += from[c];
    }
  }

 private:
  std::int64_t count_;
  std::int64_t width_;
  std::int64_t in_bag_;
  std::size_t slots_;
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_gradient(const KernelContext& context) {
  return std::make_unique<SparseGradientKernel>(context);
}

}  // namespace ptrain::cpu
