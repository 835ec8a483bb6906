#include "core/ops/activation.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/convert.h"
#include "core/ops/math/activation_math.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t grain = 1 << 13;

class ActivationKernel final : public Kernel {
 public:
  explicit ActivationKernel(const KernelContext& context)
      : activation_(context.op_as<ActivationOp>().activation()), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_activation(activation_, [&](auto kind) {
      visit_floating(x_.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto* x = static_cast<const T*>(args.inputs[0]);
        auto* y = static_cast<T*>(args.outputs[0]);
        parallel_for(x_.count(), grain, [&](std::int64_t begin, std::int64_t end) {
          map_run(
              begin, end, y, [](float v) { return activate<decltype(kind)::value>(v); }, x);
        });
      });
    });
  }

 private:
  Activation activation_;
  TensorDesc x_;
};

class ActivationGradKernel final : public Kernel {
 public:
  explicit ActivationGradKernel(const KernelContext& context)
      : activation_(context.op_as<ActivationGrad>().activation()),
        saved_dtype_(context.inputs[0].dtype),
        dy_(context.inputs[1]) {}

  void run(const KernelArgs& args) override {
    visit_activation(activation_, [&](auto kind) {
      visit_floating(saved_dtype_, [&](auto saved_zero) {
        visit_floating(dy_.dtype, [&](auto zero) {
          using T = decltype(zero);
          const auto* saved = static_cast<const decltype(saved_zero)*>(args.inputs[0]);
          const auto* dy = static_cast<const T*>(args.inputs[1]);
          auto* dx = static_cast<T*>(args.outputs[0]);
          parallel_for(dy_.count(), grain, [&](std::int64_t begin, std::int64_t end) {
            map_run(
                begin, end, dx, [](float v, float d) { return activation_gradient<decltype(kind)::value>(d, v); },
                saved, dy);
          });
        });
      });
    });
  }

 private:
  Activation activation_;
  DType saved_dtype_;
  TensorDesc dy_;
};

}  // namespace

std::unique_ptr<Kernel> make_activation(const KernelContext& context) {
  return std::make_unique<ActivationKernel>(context);
}
std::unique_ptr<Kernel> make_activation_grad(const KernelContext& context) {
  return std::make_unique<ActivationGradKernel>(context);
}

}  // namespace ptrain::cpu
