// dw[c][r][s] = sum over output pixels of dy[pixel][c] x[pixel under tap r, s][c]. A task takes some channels and a
// part of the output's rows. For sixteen channels at a time it copies a few rows of both into fp32 buffers, x with its
// padding, where each value is read once for every tap that covers it.
#include "core/cpu/kernels/conv2d/depthwise_weight_gradient.h"

#include "core/base/parallel.h"
#include "core/cpu/simd/vector.h"

namespace ptrain::cpu {
namespace {

constexpr std::int64_t task_channels = 64;
constexpr std::int64_t buffer_bytes = 32 << 10;  // of x: fits a first-level cache
constexpr std::int64_t tasks_per_thread = 4;

/// `side` is the filter's. Several of its rows are summed at once so that the sums do not wait for each other.
template <int side>
class DepthwiseWeightGradient final : public Kernel {
  static constexpr int rows_at_once = side == 3 ? 3 : 1;
  static constexpr std::int64_t taps = side * side;

 public:
  DepthwiseWeightGradient(const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw, const Conv2dAttributes& conv)
      : dtype_(x.dtype),
        dw_(dw),
        x_(x.shape),
        dy_(dy.shape),
        stride_(conv.stride),
        padding_(conv.padding),
        width_(std::max(x_[2] + 2 * padding_, (dy_[2] - 1) * stride_ + side)),
        set_rows_(std::clamp<std::int64_t>((buffer_bytes / (width_ * lanes * 4) - side) / stride_ + 1, 1, dy_[1])),
        blocks_((x_[3] + task_channels - 1) / task_channels),
        splits_(std::min(dy_[0] * dy_[1], (tasks_per_thread * thread_count() + blocks_ - 1) / blocks_)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(sums_of_task() * tasks() + buffer_floats() * thread_count()) * sizeof(float);
  }
  KernelRecord record() const override { return {"native:depthwise"}; }

  void run(const KernelArgs& args) override {
    auto* sums = static_cast<float*>(args.workspace);
    float* buffers = sums + sums_of_task() * tasks();
    visit_floating(dtype_, [&](auto zero) {
      const auto* x = static_cast<const decltype(zero)*>(args.inputs[Conv2dGradWeight::x]);
      const auto* dy = static_cast<const decltype(zero)*>(args.inputs[Conv2dGradWeight::dy]);
      parallel_for(tasks(), 1, [&](std::int64_t first, std::int64_t last) {
        float* buffer = buffers + buffer_floats() * omp_get_thread_num();
        std::fill(buffer, buffer + buffer_floats(), 0.0f);
        for (std::int64_t task = first; task < last; ++task) run_task(x, dy, buffer, sums, task);
      });
    });
    visit_floating(dw_.dtype, [&](auto zero) { join(sums, static_cast<decltype(zero)*>(args.outputs[0])); });
  }

 private:
  std::int64_t tasks() const { return blocks_ * splits_; }
  static std::int64_t sums_of_task() { return task_channels * taps; }
  std::int64_t buffered_rows() const { return (set_rows_ - 1) * stride_ + side; }
  std::int64_t buffer_floats() const { return (buffered_rows() * width_ + set_rows_ * dy_[2]) * lanes; }

  /// Sums are [block][split][sixteen channels][tap][channel].
  template <typename T>
  void run_task(const T* x, const T* dy, float* buffer, float* sums, std::int64_t task) const {
    const std::int64_t split = task % splits_, channel = task / splits_ * task_channels;
    const std::int64_t channels = std::min(task_channels, x_[3] - channel);
    const std::int64_t rows = dy_[0] * dy_[1], end = rows * (split + 1) / splits_;
    float* to = sums + task * sums_of_task();
    std::fill(to, to + sums_of_task(), 0.0f);
    std::int64_t row = rows * split / splits_;
    while (row < end) {
      const std::int64_t image = row / dy_[1], first = row % dy_[1];
      const std::int64_t count = std::min({set_rows_, dy_[1] - first, end - row});
      for_channels(channels, [&](std::int64_t c, auto access) {
        fill(x + image * x_[1] * x_[2] * x_[3] + channel + c, dy + row * dy_[2] * x_[3] + channel + c, first, count,
             buffer, access);
        add_rows(buffer, count, to + c * taps);
      });
      row += count;
    }
  }

  /// Buffers the rows of x under output rows `first`.. of an image, zero in the padding, then those of dy.
  template <typename T, typename Access>
  void fill(const T* x, const T* dy, std::int64_t first, std::int64_t count, float* buffer, Access access) const {
    const std::int64_t row_floats = width_ * lanes;
    for (std::int64_t i = 0; i < (count - 1) * stride_ + side; ++i) {
      const std::int64_t h = first * stride_ - padding_ + i;
      float* to = buffer + i * row_floats;
      if (h < 0 || h >= x_[1]) {
        std::fill(to, to + row_floats, 0.0f);
        continue;
      }
      const T* from = x + h * x_[2] * x_[3];
      for (std::int64_t w = 0; w < x_[2]; ++w) store16(to + (padding_ + w) * lanes, access.load(from + w * x_[3]));
    }
    float* to = buffer + buffered_rows() * row_floats;
    for (std::int64_t i = 0; i < count * dy_[2]; ++i) store16(to + i * lanes, access.load(dy + i * x_[3]));
  }

  void add_rows(const float* buffer, std::int64_t count, float* sums) const {
    const float* dy = buffer + buffered_rows() * width_ * lanes;
    for (int r = 0; r < side; r += rows_at_once) {
      f32x16 sum[rows_at_once][side] = {};
      for (std::int64_t row = 0; row < count; ++row) {
        const float* x = buffer + (row * stride_ + r) * width_ * lanes;
        for (std::int64_t q = 0; q < dy_[2]; ++q) {
          const f32x16 gradient = load16(dy + (row * dy_[2] + q) * lanes);
          add_pixel(gradient, x + q * stride_ * lanes, sum);
        }
      }
      for (int i = 0; i < rows_at_once; ++i) {
        for (int s = 0; s < side; ++s) {
          float* to = sums + ((r + i) * side + s) * lanes;
          store16(to, load16(to) + sum[i][s]);
        }
      }
    }
  }

  PTRAIN_INLINE void add_pixel(f32x16 gradient, const float* x, f32x16 (&sum)[rows_at_once][side]) const {
#pragma GCC unroll 3
    for (int i = 0; i < rows_at_once; ++i) {
#pragma GCC unroll 7
      for (int s = 0; s < side; ++s) sum[i][s] += gradient * load16(x + (i * width_ + s) * lanes);
    }
  }

  /// Adds the splits' sums in order.
  template <typename W>
  void join(const float* sums, W* dw) const {
    parallel_for(x_[3], task_channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = begin; c < end; ++c) {
        const std::int64_t of_block = c % task_channels;
        const float* from =
            sums + c / task_channels * splits_ * sums_of_task() + of_block / lanes * lanes * taps + of_block % lanes;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          float sum = 0;
          for (std::int64_t split = 0; split < splits_; ++split) sum += from[split * sums_of_task() + tap * lanes];
          dw[c * taps + tap] = W(sum);
        }
      }
    });
  }

  DType dtype_;
  TensorDesc dw_;
  Shape x_, dy_;
  std::int64_t stride_, padding_;
  std::int64_t width_;     // of a buffered row of x, pixels
  std::int64_t set_rows_;  // output rows per pass
  std::int64_t blocks_, splits_;
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise_weight_gradient(const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw,
                                                       const Conv2dAttributes& conv) {
  const std::int64_t channels = x.shape[3];
  if (conv.groups != channels || dy.shape[3] != channels || conv.dilation != 1) return nullptr;
  if (dw.shape[1] != dw.shape[2]) return nullptr;
  if (dw.shape[1] == 3) return std::make_unique<DepthwiseWeightGradient<3>>(x, dy, dw, conv);
  if (dw.shape[1] == 5) return std::make_unique<DepthwiseWeightGradient<5>>(x, dy, dw, conv);
  if (dw.shape[1] == 7) return std::make_unique<DepthwiseWeightGradient<7>>(x, dy, dw, conv);
  return nullptr;
}

}  // namespace ptrain::cpu
