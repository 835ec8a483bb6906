#include "core/ops/text/swiglu.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/simd_activation.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t rows_per_task = 4;

class SwiGluKernel final : public Kernel {
 public:
  explicit SwiGluKernel(const KernelContext& context) : y_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = y_.shape[-1];
    visit_floating(y_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(y_.count() / width, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* gate = x + 2 * r * width;
          for_channels(width, [&](std::int64_t c, auto access) {
            access.store(y + r * width + c,
                         activate16<Activation::silu>(access.load(gate + c)) * access.load(gate + width + c));
          });
        }
      });
    });
  }

 private:
  TensorDesc y_;
};

class SwiGluGradKernel final : public Kernel {
  using Op = SwiGluGrad;

 public:
  explicit SwiGluGradKernel(const KernelContext& context)
      : dtype_(context.inputs[Op::x].dtype), dy_(context.inputs[Op::dy]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t width = dy_.shape[-1];
    visit_floating(dtype_, [&](auto zero) {
      visit_floating(dy_.dtype, [&](auto dy_zero) {
        using T = decltype(zero);
        const auto* x = static_cast<const T*>(args.inputs[Op::x]);
        const auto* dy = static_cast<const decltype(dy_zero)*>(args.inputs[Op::dy]);
        auto* dx = static_cast<T*>(args.outputs[0]);
        parallel_for(dy_.count() / width, rows_per_task, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const T* gates = x + 2 * r * width;
            T* gradients = dx + 2 * r * width;
            for_channels(width, [&](std::int64_t c, auto access) {
              const f32x16 gate = access.load(gates + c), d = access.load(dy + r * width + c);
              const f32x16 up = access.load(gates + width + c);
              access.store(gradients + c, activation_gradient16<Activation::silu>(d * up, gate));
              access.store(gradients + width + c, d * activate16<Activation::silu>(gate));
            });
          }
        });
      });
    });
  }

 private:
  DType dtype_;
  TensorDesc dy_;
};

}  // namespace

std::unique_ptr<Kernel> make_swiglu(const KernelContext& context) { return std::make_unique<SwiGluKernel>(context); }
std::unique_ptr<Kernel> make_swiglu_grad(const KernelContext& context) {
  return std::make_unique<SwiGluGradKernel>(context);
}

}  // namespace ptrain::cpu
