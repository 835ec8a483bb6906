// dw[k][r][s][c] = sum over output pixels m of dy[m][k] x[pixel of m under tap r, s][c]. The work is split into tasks
// of one tap and one block of channels and, if these divide badly among the threads, the pixels into splits. A task
// packs a few hundred pixels of dy and x, multiplies them into the fp32 block, and continues with the next pixels.
#include "core/cpu/kernels/conv2d/weight_gradient_by_taps.h"

#include "core/base/parallel.h"
#include "core/cpu/simd/convert.h"
#include "core/cpu/simd/gemm_microkernel.h"

#include <fmt/format.h>

#include <array>
#include <numeric>

namespace ptrain::cpu {

#ifdef __AVX512F__

namespace {

constexpr std::int64_t most_channels = 256;  // a side of a block
constexpr std::int64_t chunk_pixels = 256;   // packed at a time: they fit the second-level cache together with a block
constexpr std::int64_t enough_rounds = 8;    // tasks per thread from which an uneven distribution matters little
constexpr std::int64_t panel_elements = most_channels * chunk_pixels;

/// The output coordinates [first, last) of one dimension whose input coordinate under a tap is not padding.
struct ValidRange {
  std::int64_t first, last;
  std::int64_t count() const { return std::max<std::int64_t>(0, last - first); }
};

template <typename Engine>
class WeightGradientByTaps final : public Kernel {
 public:
  using Element = typename Engine::Element;

  explicit WeightGradientByTaps(const WeightGradientProblem& problem)
      : x_(problem.x),
        dy_(problem.dy),
        dw_(problem.dw),
        conv_(problem.conv),
        block_k_(block(k())),
        block_c_(block(c())) {
    const std::int64_t whole = taps() * blocks_k() * blocks_c(), threads = thread_count();
    splits_ = whole >= enough_rounds * threads ? 1 : threads / std::gcd(whole, threads);
  }

  std::size_t workspace_bytes() const override {
    const std::size_t panels = 2 * panel_elements * sizeof(Element) * static_cast<std::size_t>(thread_count());
    return panels + (direct() ? 0 : static_cast<std::size_t>(splits_ * dw_.count()) * sizeof(float));
  }
  KernelRecord record() const override { return {fmt::format("native:{}", Engine::name)}; }

  void run(const KernelArgs& args) override {
    auto* panels = static_cast<Element*>(args.workspace);
    float* sums = direct() ? static_cast<float*>(args.outputs[0])
                           : reinterpret_cast<float*>(panels + 2 * panel_elements * thread_count());
    const auto* x = static_cast<const Element*>(args.inputs[0]);
    const auto* dy = static_cast<const Element*>(args.inputs[1]);
    parallel_for(tasks(), 1, [&](std::int64_t first, std::int64_t last) {
      Engine::begin();
      for (std::int64_t task = first; task < last; ++task) {
        run_task(x, dy, panels + 2 * panel_elements * omp_get_thread_num(), sums, task);
      }
      Engine::end();
    });
    if (!direct()) join(sums, args.outputs[0]);
  }

 private:
  std::int64_t k() const { return dw_.shape[0]; }
  std::int64_t c() const { return dw_.shape[3]; }
  std::int64_t taps() const { return dw_.shape[1] * dw_.shape[2]; }
  std::int64_t blocks_k() const { return (k() + block_k_ - 1) / block_k_; }
  std::int64_t blocks_c() const { return (c() + block_c_ - 1) / block_c_; }
  std::int64_t tasks() const { return taps() * blocks_k() * blocks_c() * splits_; }
  /// Block size that divides `channels` into as few blocks as possible, all of about one size.
  static std::int64_t block(std::int64_t channels) {
    const std::int64_t blocks = (channels + most_channels - 1) / most_channels;
    return (channels / 32 + blocks - 1) / blocks * 32;
  }
  /// Whether tasks accumulate in the output itself.
  bool direct() const { return splits_ == 1 && dw_.dtype == DType::f32; }

  ValidRange valid(int dimension, std::int64_t tap) const {
    const std::int64_t offset = tap * conv_.dilation - conv_.padding;  // of the input coordinate at output 0
    const std::int64_t first = offset >= 0 ? 0 : (-offset + conv_.stride - 1) / conv_.stride;
    const std::int64_t room = x_[dimension] - 1 - offset;
    return {first, room < 0 ? 0 : std::min(dy_[dimension], room / conv_.stride + 1)};
  }

  void run_task(const Element* x, const Element* dy, Element* left, float* sums, std::int64_t task) const {
    const std::int64_t split = task % splits_, block = task / splits_ % (blocks_k() * blocks_c());
    const std::int64_t tap = task / (splits_ * blocks_k() * blocks_c());
    const std::int64_t r = tap / dw_.shape[2], s = tap % dw_.shape[2];
    const std::int64_t k0 = block / blocks_c() * block_k_, c0 = block % blocks_c() * block_c_;
    const std::int64_t nk = std::min(block_k_, k() - k0), nc = std::min(block_c_, c() - c0);
    const ValidRange rows = valid(1, r), columns = valid(2, s);
    const std::int64_t pixels = dy_[0] * rows.count() * columns.count();
    const std::int64_t begin = pixels * split / splits_, end = pixels * (split + 1) / splits_;

    const std::int64_t stride = taps() * c();
    float* block_sums = sums + split * dw_.count() + k0 * stride + tap * c() + c0;
    Element* right = left + panel_elements;
    std::int64_t n = 0, p = rows.first, q = columns.first;  // the next pixel's image, row and column
    if (pixels > 0) {
      const std::int64_t row = begin / columns.count();
      n = row / rows.count();
      p += row % rows.count();
      q += begin % columns.count();
    }
    std::int64_t m = begin;
    do {  // at least once: without pixels the gradient is zero
      const std::int64_t count = std::min(chunk_pixels, end - m);
      const std::int64_t steps = (count + Engine::step_pixels - 1) / Engine::step_pixels;
      for (std::int64_t step = 0; step < steps; ++step) {
        std::array<const Element*, Engine::step_pixels> from_dy, from_x;
        for (std::int64_t i = 0; i < Engine::step_pixels; ++i) {
          const auto at = static_cast<std::size_t>(i);
          if (m + step * Engine::step_pixels + i >= end) {
            from_dy[at] = from_x[at] = zeros_.data();
            continue;
          }
          const std::int64_t h = p * conv_.stride - conv_.padding + r * conv_.dilation;
          const std::int64_t w = q * conv_.stride - conv_.padding + s * conv_.dilation;
          from_dy[at] = dy + ((n * dy_[1] + p) * dy_[2] + q) * k() + k0;
          from_x[at] = x + ((n * x_[1] + h) * x_[2] + w) * c() + c0;
          if (++q == columns.last) {
            q = columns.first;
            if (++p == rows.last) {
              p = rows.first;
              ++n;
            }
          }
        }
        Engine::pack_left(from_dy, nk, left, step, steps);
        Engine::pack_right(from_x, nc, right, step, steps);
      }
      Engine::multiply(left, right, block_sums, stride, steps, nk, nc, m > begin);
      m += count;
    } while (m < end);
  }

  /// Adds the splits' sums and rounds to the output's dtype.
  void join(float* sums, void* out) const {
    const std::int64_t count = dw_.count();
    visit_floating(dw_.dtype, [&](auto zero) {
      auto* dw = static_cast<decltype(zero)*>(out);
      parallel_for(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t split = 1; split < splits_; ++split) {
          for (std::int64_t i = begin; i < end; ++i) sums[i] += sums[split * count + i];
        }
        convert_run(sums + begin, dw + begin, end - begin);
      });
    });
  }

  static constexpr std::array<Element, most_channels> zeros_{};

  Shape x_, dy_;
  TensorDesc dw_;
  Conv2dAttributes conv_;
  std::int64_t block_k_, block_c_, splits_ = 1;
};

template <typename Engine>
std::unique_ptr<Kernel> make_if_available(const WeightGradientProblem& problem) {
  if (!Engine::available()) return nullptr;
  return std::make_unique<WeightGradientByTaps<Engine>>(problem);
}

}  // namespace

std::unique_ptr<Kernel> make_weight_gradient_by_taps(const WeightGradientProblem& problem, DType dtype) {
  if (problem.conv.groups != 1 || problem.dw.shape[0] % 32 != 0 || problem.dw.shape[3] % 32 != 0) return nullptr;
  switch (dtype) {
    case DType::f32:
      return make_if_available<VectorProduct<F32Lanes>>(problem);
#ifdef __AMX_BF16__
    case DType::bf16:
      return make_if_available<AmxProduct>(problem);
#elif defined(__AVX512BF16__)
    case DType::bf16:
      return make_if_available<VectorProduct<Bf16Lanes>>(problem);
#endif
#if !defined(__AMX_BF16__) && !defined(__AVX512BF16__)
    case DType::bf16:
#endif
    case DType::f16:
    case DType::i64:
    case DType::i32:
    case DType::u8:
    case DType::s8:
      return nullptr;
  }
  return nullptr;
}

#else

std::unique_ptr<Kernel> make_weight_gradient_by_taps(const WeightGradientProblem&, DType) { return nullptr; }

#endif

}  // namespace ptrain::cpu
