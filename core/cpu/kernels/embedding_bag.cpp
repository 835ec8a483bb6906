// One thread adds the rows of a bag in order.
#include "core/ops/sparse/embedding_bag.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class EmbeddingBagKernel final : public Kernel {
 public:
  explicit EmbeddingBagKernel(const KernelContext& context)
      : in_bag_(context.inputs[EmbeddingBag::ids].shape[-1]),
        bags_(context.inputs[EmbeddingBag::ids].count() / in_bag_),
        width_(context.inputs[EmbeddingBag::table].shape[1]) {}

  void run(const KernelArgs& args) override {
    const auto* ids = static_cast<const std::int32_t*>(args.inputs[EmbeddingBag::ids]);
    const auto* table = static_cast<const float*>(args.inputs[EmbeddingBag::table]);
    auto* y = static_cast<float*>(args.outputs[0]);
    parallel_for(bags_, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t bag = begin; bag < end; ++bag) {
        float* sum = y + bag * width_;
        std::fill(sum, sum + width_, 0.0f);
        for (std::int64_t i = bag * in_bag_; i < (bag + 1) * in_bag_; ++i) {
          const float* row = table + ids[i] * width_;
          for (std::int64_t c = 0; c < width_; ++c) sum[c] += row[c];
        }
      }
    });
  }

 private:
  std::int64_t in_bag_;
  std::int64_t bags_;
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<Kernel> make_embedding_bag(const KernelContext& context) {
  return std::make_unique<EmbeddingBagKernel>(context);
}

}  // namespace ptrain::cpu
