// Normalised pixels by a table of 256 values per channel.
#include "core/ops/image/normalize_image.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ptrain::cpu {
namespace {

/// The value that a pixel has in the result.
template <typename T>
T convert(float normalized, const std::optional<QuantizedFormat>& format) {
  if (!format) return T(normalized);
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(std::clamp(std::nearbyint(normalized * (1 / format->scale)), static_cast<float>(Limits::min()),
                                   static_cast<float>(Limits::max())));
}

/// To T.
template <typename T>
class NormalizeImageKernel final : public Kernel {
 public:
  explicit NormalizeImageKernel(const KernelContext& context)
      : channels_(context.outputs[0].shape[3]),
        inputs_(context.inputs[0].shape[3]),
        pixels_(context.inputs[0].count() / inputs_) {
    const NormalizeImage::Attributes& attrs = context.op_as<NormalizeImage>().attrs();
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t v = 0; v < 256; ++v) {
        table_[c][v] = convert<T>((static_cast<float>(v) / 255.0f - attrs.mean[c]) / attrs.deviation[c], attrs.format);
      }
    }
  }

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const std::uint8_t*>(args.inputs[0]);
    auto* y = static_cast<T*>(args.outputs[0]);
    parallel_for(pixels_, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
      if (inputs_ > 3) return normalize_stacked(x, y, begin, end);
      channels_ == 4 ? normalize<4>(x, y, begin, end) : normalize<3>(x, y, begin, end);
    });
  }

 private:
  template <int channels>
  void normalize(const std::uint8_t* x, T* y, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
      std::array<T, channels> pixel{};
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = table_[c][x[i * 3 + static_cast<std::int64_t>(c)]];
      memcpy(static_cast<void*>(y + i * channels), pixel.data(), sizeof pixel);
    }
  }

  void normalize_stacked(const std::uint8_t* x, T* y, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t c = 0; c < inputs_; ++c) {
        y[i * channels_ + c] = table_[static_cast<std::size_t>(c % 3)][x[i * inputs_ + c]];
      }
      std::fill(y + i * channels_ + inputs_, y + (i + 1) * channels_, T{});
    }
  }

  std::int64_t channels_, inputs_, pixels_;
  std::array<std::array<T, 256>, 3> table_;
};

}  // namespace

std::unique_ptr<Kernel> make_normalize_image(const KernelContext& context) {
  std::unique_ptr<Kernel> kernel;
  const auto make = [&](auto zero) { kernel = std::make_unique<NormalizeImageKernel<decltype(zero)>>(context); };
  const DType dtype = context.outputs[0].dtype;
  is_int8(dtype) ? visit_int8(dtype, make) : visit_floating(dtype, make);
  return kernel;
}

}  // namespace ptrain::cpu
