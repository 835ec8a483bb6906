// Sums of bags of rows, looked up in a table or already side by side.
#include "core/ops/sparse/embedding_bag.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/sparse/divided_table.h"

namespace ptrain::cpu {
namespace {

struct BagSizes {
  std::int64_t bags, in_bag, width;
};

/// Adds the rows of each bag in order, from zero on, one thread a bag; `get_row` gives row i of all bags, null for
/// none.
template <typename GetRow>
void sum_bags(const BagSizes& sizes, GetRow get_row, float* y) {
  const std::int64_t in_bag = sizes.in_bag, width = sizes.width;
  parallel_for(sizes.bags, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t bag = begin; bag < end; ++bag) {
      const auto for_rows = [&](auto&& add) {
        for (std::int64_t i = bag * in_bag; i < (bag + 1) * in_bag; ++i) {
          if (const float* row = get_row(i); row != nullptr) add(row);
        }
      };
      if (width == 1) {
        float sum = 0;
        for_rows([&](const float* row) { sum += *row; });
        y[bag] = sum;
        continue;
      }
      for_channels(width, [&](std::int64_t c, auto access) {
        f32x16 sum = splat(0);
        for_rows([&](const float* row) { sum += access.load(row + c); });
        access.store(y + bag * width + c, sum);
      });
    }
  });
}

class EmbeddingBagKernel final : public Kernel {
 public:
  explicit EmbeddingBagKernel(const KernelContext& context) {
    const std::int64_t in_bag = context.inputs[EmbeddingBag::ids].shape[-1];
    sizes_ = {context.inputs[EmbeddingBag::ids].count() / in_bag, in_bag, context.inputs[EmbeddingBag::table].shape[1]};
  }

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[EmbeddingBag::ids]);
    const auto* table = static_cast<const float*>(args.inputs[EmbeddingBag::table]);
    const std::int64_t width = sizes_.width;
    sum_bags(
        sizes_, [=](std::int64_t i) { return ids[i] < 0 ? nullptr : table + ids[i] * width; },
        static_cast<float*>(args.outputs[0]));
  }

 private:
  BagSizes sizes_;
};

class SumBagsKernel final : public Kernel {
 public:
  explicit SumBagsKernel(const KernelContext& context) {
    const std::int64_t in_bag = context.inputs[0].shape[-2], width = context.inputs[0].shape[-1];
    sizes_ = {context.inputs[0].count() / (in_bag * width), in_bag, width};
  }

  void run(const KernelArgs& args) override {
    const auto* rows = static_cast<const float*>(args.inputs[0]);
    const std::int64_t width = sizes_.width;
    sum_bags(
        sizes_, [=](std::int64_t i) { return rows + i * width; }, static_cast<float*>(args.outputs[0]));
  }

 private:
  BagSizes sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_embedding_bag(const KernelContext& context) {
  return std::make_unique<EmbeddingBagKernel>(context);
}

std::unique_ptr<Kernel> make_sum_bags(const KernelContext& context) { return std::make_unique<SumBagsKernel>(context); }

}  // namespace ptrain::cpu
