// Scales each channel, and its gradient, in one pass over the data each.
#include "core/ops/normalization/layer_scale.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/row_blocks.h"

namespace ptrain::cpu {
namespace {

class LayerScaleKernel final : public Kernel {
 public:
  explicit LayerScaleKernel(const KernelContext& context)
      : dtype_(context.inputs[LayerScale::x].dtype), rows_(context.inputs[LayerScale::x]) {}

  void run(const KernelArgs& args) override {
    const auto* gamma = static_cast<const float*>(args.inputs[LayerScale::gamma]);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[LayerScale::x]);
      auto* y = static_cast<T*>(args.outputs[0]);
      rows_.map(Order::forward, [&](std::int64_t c, auto access, const auto& rows) {
        const f32x16 factor = access.load(gamma + c);
        rows.each([&](std::int64_t row) {
          const std::int64_t at = row * rows_.channels + c;
          rows.store(y + at, rows.load(x + at) * factor);
        });
      });
    });
  }

 private:
  DType dtype_;
  RowBlocks rows_;
};

class LayerScaleGradKernel final : public Kernel {
 public:
  using Op = LayerScaleGrad;

  explicit LayerScaleGradKernel(const KernelContext& context)
      : dtype_(context.inputs[Op::x].dtype), rows_(context.inputs[Op::x]) {}

  std::size_t workspace_bytes() const override { return rows_.partial_floats() * sizeof(float); }

  void run(const KernelArgs& args) override {
    const auto* gamma = static_cast<const float*>(args.inputs[Op::gamma]);
    auto* partial = static_cast<float*>(args.workspace);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* dy = static_cast<const T*>(args.inputs[Op::dy]);
      const auto* x = static_cast<const T*>(args.inputs[Op::x]);
      auto* dx = static_cast<T*>(args.outputs[Op::dx]);
      rows_.sums(partial, Order::forward,
                 [&](std::int64_t c, auto access, const auto& rows, f32x16& sum, f32x16& /*unused*/) {
                   const f32x16 factor = access.load(gamma + c);
                   rows.each([&](std::int64_t row) {
                     const std::int64_t at = row * rows_.channels + c;
                     const f32x16 g = rows.load(dy + at);
                     sum += g * rows.load(x + at);
                     rows.store(dx + at, g * factor);
                   });
                 });
    });
    auto* dgamma = static_cast<float*>(args.outputs[Op::dgamma]);
    rows_.reduce(partial, [&](std::int64_t c, double sum, double) { dgamma[c] = static_cast<float>(sum); });
  }

 private:
  DType dtype_;
  RowBlocks rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_layer_scale(const KernelContext& context) {
  return std::make_unique<LayerScaleKernel>(context);
}
std::unique_ptr<Kernel> make_layer_scale_grad(const KernelContext& context) {
  return std::make_unique<LayerScaleGradKernel>(context);
}

}  // namespace ptrain::cpu
