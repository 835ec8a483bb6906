// Pixels to normalised floats by a table of 256 values per channel.
#include "core/ops/image/normalize_image.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

#include <algorithm>
#include <array>

namespace ptrain::cpu {
namespace {

class NormalizeImageKernel final : public Kernel {
 public:
  explicit NormalizeImageKernel(const KernelContext& context)
      : channels_(context.op_as<NormalizeImage>().attrs().channels),
        dtype_(context.outputs[0].dtype),
        inputs_(context.inputs[0].shape[3]),
        pixels_(context.inputs[0].count() / inputs_) {
    const NormalizeImage::Attributes& attrs = context.op_as<NormalizeImage>().attrs();
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t v = 0; v < 256; ++v) {
        table_[c][v] = (static_cast<float>(v) / 255.0f - attrs.mean[c]) / attrs.deviation[c];
      }
    }
  }

  void run(const KernelArgs& args) override {
    const auto* x = static_cast<const std::uint8_t*>(args.inputs[0]);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      auto* y = static_cast<T*>(args.outputs[0]);
      parallel_for(pixels_, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
        if (inputs_ > 3) return normalize_stacked(x, y, begin, end);
        channels_ == 4 ? normalize<T, 4>(x, y, begin, end) : normalize<T, 3>(x, y, begin, end);
      });
    });
  }

 private:
  template <typename T, int channels>
  void normalize(const std::uint8_t* x, T* y, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
      for (int c = 0; c < 3; ++c) y[i * channels + c] = T(table_[static_cast<std::size_t>(c)][x[i * 3 + c]]);
      if constexpr (channels == 4) y[i * channels + 3] = T(0.0f);
    }
  }

  template <typename T>
  void normalize_stacked(const std::uint8_t* x, T* y, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t i = begin; i < end; ++i) {
      for (std::int64_t image = 0; image < inputs_; image += 3) {
        for (std::int64_t c = 0; c < 3; ++c) {
          y[i * channels_ + image + c] = T(table_[static_cast<std::size_t>(c)][x[i * inputs_ + image + c]]);
        }
      }
      std::fill(y + i * channels_ + inputs_, y + (i + 1) * channels_, T(0.0f));
    }
  }

  std::int64_t channels_;
  DType dtype_;
  std::int64_t inputs_;  // channels
  std::int64_t pixels_;
  std::array<std::array<float, 256>, 3> table_;
};

}  // namespace

std::unique_ptr<Kernel> make_normalize_image(const KernelContext& context) {
  return std::make_unique<NormalizeImageKernel>(context);
}

}  // namespace ptrain::cpu
