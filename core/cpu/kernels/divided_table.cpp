#include "core/ops/sparse/divided_table.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>

namespace ptrain::cpu {
namespace {

class LocalRowsKernel final : public Kernel {
 public:
  explicit LocalRowsKernel(const KernelContext& context)
      : shard_(context.op_as<LocalRows>().attrs()), count_(context.inputs[0].count()) {}

  void run(const KernelArgs& args) override {
    const auto* rows = static_cast<const std::int32_t*>(args.inputs[0]);
    auto* local = static_cast<std::int32_t*>(args.outputs[0]);
    parallel_for(count_, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) local[i] = static_cast<std::int32_t>(shard_.local(rows[i]));
    });
  }

 private:
  RowShard shard_;
  std::int64_t count_;
};

/// One thread adds the rows of a bag in order, from zero on.
class SumBagsKernel final : public Kernel {
 public:
  explicit SumBagsKernel(const KernelContext& context)
      : in_bag_(context.inputs[0].shape[-2]),
        width_(context.inputs[0].shape[-1]),
        bags_(context.inputs[0].count() / (in_bag_ * width_)) {}

  void run(const KernelArgs& args) override {
    const auto* rows = static_cast<const float*>(args.inputs[0]);
    auto* y = static_cast<float*>(args.outputs[0]);
    parallel_for(bags_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t bag = begin; bag < end; ++bag) {
        float* sum = y + bag * width_;
        std::fill(sum, sum + width_, 0.0f);
        for (std::int64_t i = bag * in_bag_; i < (bag + 1) * in_bag_; ++i) {
          for (std::int64_t c = 0; c < width_; ++c) sum[c] += rows[i * width_ + c];
        }
      }
    });
  }

 private:
  std::int64_t in_bag_;
  std::int64_t width_;
  std::int64_t bags_;
};

}  // namespace

std::unique_ptr<Kernel> make_local_rows(const KernelContext& context) {
  return std::make_unique<LocalRowsKernel>(context);
}

std::unique_ptr<Kernel> make_sum_bags(const KernelContext& context) { return std::make_unique<SumBagsKernel>(context); }

}  // namespace ptrain::cpu
