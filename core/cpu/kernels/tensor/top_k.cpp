// The result's row of indices is a heap of the best elements so far, with the worst of them first.
#include "core/ops/tensor/top_k.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/descending.h"

#include <algorithm>
#include <numeric>

namespace ptrain::cpu {
namespace {

class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(const KernelContext& context) : k_(context.op_as<TopK>().k()), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = x_.shape[-1], rows = x_.count() / width;
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* values = static_cast<T*>(args.outputs[TopK::values]);
      auto* indices = static_cast<std::int32_t*>(args.outputs[TopK::indices]);
      parallel_for(rows, std::max<std::int64_t>(1, (1 << 13) / width), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          run_row(x + row * width, width, values + row * k_, indices + row * k_);
        }
      });
    });
  }

 private:
  template <typename T>
  void run_row(const T* x, std::int64_t width, T* values, std::int32_t* best) const {
    const auto before = [x](std::int32_t i, std::int32_t j) {
      return comes_before(static_cast<float>(x[i]), i, static_cast<float>(x[j]), j);
    };
    std::iota(best, best + k_, 0);
    std::make_heap(best, best + k_, before);
    for (auto i = static_cast<std::int32_t>(k_); i < width; ++i) {
      if (!before(i, best[0])) continue;
      std::pop_heap(best, best + k_, before);
      best[k_ - 1] = i;
      std::push_heap(best, best + k_, before);
    }
    std::sort_heap(best, best + k_, before);
    for (std::int64_t j = 0; j < k_; ++j) values[j] = x[best[j]];
  }

  std::int64_t k_;
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_top_k(const KernelContext& context) { return std::make_unique<TopKKernel>(context); }

}  // namespace ptrain::cpu
