// Gradient of a convolution with respect to its bias: the sums over all pixels.
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/row_blocks.h"
#include "core/ops/image/conv2d.h"

namespace ptrain::cpu {
namespace {

class Conv2dGradBiasKernel final : public Kernel {
 public:
  explicit Conv2dGradBiasKernel(const KernelContext& context)
      : dtype_(context.inputs[0].dtype), rows_(context.inputs[0]) {}

  std::size_t workspace_bytes() const override { return rows_.partial_floats() * sizeof(float); }

  void run(const KernelArgs& args) override {
    auto* partial = static_cast<float*>(args.workspace);
    auto* db = static_cast<float*>(args.outputs[0]);
    visit_floating(dtype_, [&](auto zero) {
      const auto* dy = static_cast<const decltype(zero)*>(args.inputs[0]);
      rows_.sums(partial, Order::backward, [&](std::int64_t c, auto, const auto& rows, f32x16& sum, f32x16&) {
        rows.each([&](std::int64_t row) { sum += rows.load(dy + row * rows_.channels + c); });
      });
    });
    rows_.reduce(partial, [&](std::int64_t c, double sum, double) { db[c] = static_cast<float>(sum); });
  }

 private:
  DType dtype_;
  RowBlocks rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d_grad_bias(const KernelContext& context) {
  return std::make_unique<Conv2dGradBiasKernel>(context);
}

}  // namespace ptrain::cpu
