#include "core/ops/dropout.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/convert.h"
#include "core/cpu/simd/dropout_factors.h"

namespace ptrain::cpu {
namespace {

/// Forward and backward are the same product with the mask.
class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(DropoutAttributes attributes, TensorDesc x) : attributes_(attributes), x_(std::move(x)) {}

  void run(const KernelArgs& args) override {
    const std::int64_t each = attributes_.elements_per_draw(x_.shape);
    const DropoutMask mask = dropout_mask(attributes_.p, args.inputs, 1, attributes_.stream, x_.count() / each);
    visit_floating(x_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(x_.count(), 1 << 12, [&](std::int64_t begin, std::int64_t end) {
        if (attributes_.unit == DropoutUnit::element) {
          drop_elements(mask, x, y, begin, end);
        } else {
          drop_samples(mask, each, x, y, begin, end);
        }
      });
    });
  }

 private:
  template <typename T>
  static void drop_elements(const DropoutMask& mask, const T* x, T* y, std::int64_t begin, std::int64_t end) {
    float factors[run_length];
    for (std::int64_t i = begin; i < end;) {
      // Up to the next multiple of the buffer, so that later runs are aligned to the mask's groups.
      const std::int64_t part = std::min(run_length - i % run_length, end - i);
      dropout_factors(mask, static_cast<std::uint64_t>(i), part, factors);
      map_run(
          0, part, y + i, [](float v, float f) { return v * f; }, x + i, factors);
      i += part;
    }
  }

  template <typename T>
  static void drop_samples(const DropoutMask& mask, std::int64_t each, const T* x, T* y, std::int64_t begin,
                           std::int64_t end) {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t sample = i / each, part = std::min((sample + 1) * each, end) - i;
      const float factor = mask.factor(static_cast<std::uint64_t>(sample));
      map_run(
          0, part, y + i, [factor](float v) { return v * factor; }, x + i);
      i += part;
    }
  }

  DropoutAttributes attributes_;
  TensorDesc x_;
};

}  // namespace

std::unique_ptr<Kernel> make_dropout(const KernelContext& context) {
  return std::make_unique<DropoutKernel>(context.op_as<Dropout>().attrs(), context.inputs[0]);
}
std::unique_ptr<Kernel> make_dropout_grad(const KernelContext& context) {
  return std::make_unique<DropoutKernel>(context.op_as<DropoutGrad>().attrs(), context.inputs[0]);
}

}  // namespace ptrain::cpu
