// Conversion between real values and 8-bit integers.
#include "core/ops/quantization/quantize.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t elements_at_once = 1 << 14;  // per thread

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const KernelContext& context)
      : format_(context.op_as<Quantize>().attrs()), x_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    visit_floating(x_.dtype, [&](auto real) {
      visit_int8(format_.dtype, [&](auto integer) {
        convert(static_cast<const decltype(real)*>(args.inputs[0]), static_cast<decltype(integer)*>(args.outputs[0]));
      });
    });
  }

 private:
  template <typename From, typename To>
  void convert(const From* x, To* y) const {
    const float factor = 1 / format_.scale;
    parallel_for(x_.count(), elements_at_once, [&](std::int64_t begin, std::int64_t end) {
      for_channels(end - begin, [&](std::int64_t i, auto access) {
        access.store(y + begin + i, access.load(x + begin + i) * factor);
      });
    });
  }

  QuantizedFormat format_;
  TensorDesc x_;
};

class DequantizeKernel final : public Kernel {
 public:
  explicit DequantizeKernel(const KernelContext& context)
      : format_(context.op_as<Dequantize>().attrs()), count_(context.inputs[0].count()) {}

  void run(const KernelArgs& args) override {
    visit_int8(format_.dtype, [&](auto integer) {
      const auto* x = static_cast<const decltype(integer)*>(args.inputs[0]);
      auto* y = static_cast<float*>(args.outputs[0]);
      parallel_for(count_, elements_at_once, [&](std::int64_t begin, std::int64_t end) {
        for_channels(end - begin, [&](std::int64_t i, auto access) {
          access.store(y + begin + i, access.load(x + begin + i) * format_.scale);
        });
      });
    });
  }

 private:
  QuantizedFormat format_;
  std::int64_t count_;
};

}  // namespace

std::unique_ptr<Kernel> make_quantize(const KernelContext& context) {
  return std::make_unique<QuantizeKernel>(context);
}
std::unique_ptr<Kernel> make_dequantize(const KernelContext& context) {
  return std::make_unique<DequantizeKernel>(context);
}

}  // namespace ptrain::cpu
