#include "core/ops/elementwise.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/convert.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t grain = 1 << 14;

class AddKernel final : public Kernel {
 public:
  explicit AddKernel(const KernelContext& context) : desc_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(desc_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* a = static_cast<const T*>(args.inputs[0]);
      const auto* b = static_cast<const T*>(args.inputs[1]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(desc_.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        map_run(
            begin, end, y, [](float p, float q) { return p + q; }, a, b);
      });
    });
  }

 private:
  TensorDesc desc_;
};

class ScaleKernel final : public Kernel {
 public:
  explicit ScaleKernel(const KernelContext& context)
      : factor_(context.op_as<Scale>().factor()), desc_(context.outputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(desc_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* x = static_cast<const T*>(args.inputs[0]);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(desc_.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        map_run(
            begin, end, y, [this](float v) { return v * factor_; }, x);
      });
    });
  }

 private:
  float factor_;
  TensorDesc desc_;
};

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const KernelContext& context) : from_(context.inputs[0]), to_(context.outputs[0].dtype) {}

  void run(const KernelArgs& args) override {
    convert(from_.dtype, args.inputs[0], to_, args.outputs[0], from_.count());
  }

 private:
  TensorDesc from_;
  DType to_;
};

}  // namespace

std::unique_ptr<Kernel> make_add(const KernelContext& context) { return std::make_unique<AddKernel>(context); }
std::unique_ptr<Kernel> make_cast(const KernelContext& context) { return std::make_unique<CastKernel>(context); }
std::unique_ptr<Kernel> make_scale(const KernelContext& context) { return std::make_unique<ScaleKernel>(context); }

}  // namespace ptrain::cpu
