// Hash tables in the workspace find the first occurrence of every id. Each thread takes some of the ids, all of their
// occurrences, so that the order of additions does not depend on the number of threads.
#include "core/ops/sparse/sparse_gradient.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/first_places.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

class SparseGradientKernel final : public Kernel {
 public:
  explicit SparseGradientKernel(const KernelContext& context)
      : count_(context.outputs[SparseGradient::values].shape[0]),
        width_(context.outputs[SparseGradient::values].shape[1]),
        in_bag_(count_ * width_ / context.inputs[SparseGradient::dy].count()),
        parts_(count_ * width_ < smallest_part ? 1 : std::min(thread_count(), most_parts)),
        slots_(FirstPlaces::slots_for(count_)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(parts_) * slots_ * sizeof(std::int32_t);
  }

  void run(const KernelArgs& args) override {
    parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) add_part(args, static_cast<int>(part));
    });
  }

 private:
  static constexpr std::int64_t smallest_part = 16384;  // elements: less is done before a thread has started
  static constexpr int most_parts = 8;                  // each reads all ids

  void add_part(const KernelArgs& args, int part) const {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[SparseGradient::ids]);
    const auto* dy = static_cast<const float*>(args.inputs[SparseGradient::dy]);
    auto* rows = static_cast<std::int32_t*>(args.outputs[SparseGradient::rows]);
    auto* values = static_cast<float*>(args.outputs[SparseGradient::values]);
    const auto is_here = [&](std::int64_t i) { return parts_ == 1 || FirstPlaces::find_part(ids[i], parts_) == part; };
    std::int64_t here = 0;
    for (std::int64_t i = 0; i < count_; ++i) here += is_here(i);
    auto* slots = static_cast<std::int32_t*>(args.workspace) + static_cast<std::size_t>(part) * slots_;
    FirstPlaces first_places(slots, FirstPlaces::slots_for(here));
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!is_here(i)) continue;
      rows[i] = -1;
      std::fill_n(values + i * width_, width_, 0.0f);
      if (ids[i] < 0) continue;
      const std::int32_t first = first_places(ids, static_cast<std::int32_t>(i));
      if (first == i) rows[i] = ids[i];
      const float* from = dy + i / in_bag_ * width_;
      float* sum = values + first * width_;
      for (std::int64_t c = 0; c < width_; ++c) sum[c] += from[c];
    }
  }

  std::int64_t count_;
  std::int64_t width_;
  std::int64_t in_bag_;
  int parts_;
  std::size_t slots_;  // of a part that has all ids
};

}  // namespace

std::unique_ptr<Kernel> make_sparse_gradient(const KernelContext& context) {
  return std::make_unique<SparseGradientKernel>(context);
}

}  // namespace ptrain::cpu
