// dw = G^T [sum over tiles of (A dy A^T) * (B^T x B)] G: a few hundred tiles of dy and x at a time are transformed,
// then multiplied, for each position in the tile a matrix product over the tiles, into sums that are transformed back
// at the end.
#include "core/base/parallel.h"
#include "core/cpu/kernels/conv2d/winograd.h"
#include "core/cpu/kernels/conv2d/winograd_tiles.h"
#include "core/cpu/simd/small_gemm.h"

namespace ptrain::cpu {
namespace {

template <int m>
class WinogradGradWeight final : public Kernel {
  using Transforms = Winograd<m>;
  static constexpr int size = Transforms::size;
  static constexpr std::int64_t places = size * size;
  static constexpr std::int64_t chunk = 64, chunk_rows = 48;            // of x's and dy's channels: a task's product
  static constexpr std::int64_t wanted_floats = std::int64_t{1} << 21;  // of transformed tiles: fits a third-level
                                                                        // cache
  static constexpr std::int64_t fewest_tiles = 256, most_tiles = 1024;  // at a time

 public:
  WinogradGradWeight(const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw, const Conv2dAttributes& conv)
      : data_type_(x.dtype),
        weights_type_(dw.dtype),
        tiles_{x.shape, dy.shape, conv.padding, conv.dilation, m},
        c_(x.shape[3]),
        k_(dy.shape[3]),
        set_tiles_(
            std::min(tiles_.count(), std::clamp(wanted_floats / (places * (c_ + k_)), fewest_tiles, most_tiles))) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(places * (set_tiles_ * (c_ + k_) + k_ * c_)) * sizeof(float);
  }
  KernelRecord record() const override { return {fmt::format("native:{}", Transforms::name)}; }

  void run(const KernelArgs& args) override {
    auto* sums = static_cast<float*>(args.workspace);
    float* data = sums + places * k_ * c_;
    float* gradients = data + places * set_tiles_ * c_;
    for (std::int64_t first = 0; first < tiles_.count(); first += set_tiles_) {
      const std::int64_t count = std::min(set_tiles_, tiles_.count() - first);
      visit_floating(data_type_, [&](auto zero) {
        const auto* x = static_cast<const decltype(zero)*>(args.inputs[Conv2dGradWeight::x]);
        const auto* dy = static_cast<const decltype(zero)*>(args.inputs[Conv2dGradWeight::dy]);
        parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t t = begin; t < end; ++t) transform_tile(x, dy, data, gradients, first + t, t);
        });
      });
      multiply(data, gradients, sums, count, first > 0);
    }
    visit_floating(weights_type_,
                   [&](auto zero) { transform_back(sums, static_cast<decltype(zero)*>(args.outputs[0])); });
  }

 private:
  std::int64_t width(std::int64_t channel) const { return std::min(chunk, c_ - channel / chunk * chunk); }

  /// Data is [place][chunk][tile][channel of the chunk], gradients are [place][tile][k].
  template <typename T>
  void transform_tile(const T* x, const T* dy, float* data, float* gradients, std::int64_t number,
                      std::int64_t t) const {
    const WinogradTile tile(tiles_, number);
    const Shape &from = tiles_.data, &to = tiles_.result;
    const PixelSquare<size, T> square(x + tile.image * from[1] * from[2] * c_, from, tile.row - tiles_.padding,
                                      tile.column - tiles_.padding, tiles_.dilation);
    for (std::int64_t c = 0; c < c_; c += lanes) {
      f32x16 pixels[size][size], transformed[size][size];
      square.load(c, pixels);
      transform_both_axes<size, size>(pixels, transformed, [](const auto& d, auto& v) { Transforms::input(d, v); });
      float* at = data + c / chunk * chunk * set_tiles_ + t * width(c) + c % chunk;
      store_places(transformed, at, set_tiles_ * c_);
    }
    const PixelSquare<m, T> results(dy + tile.image * to[1] * to[2] * k_, to, tile.row, tile.column, tiles_.dilation);
    for (std::int64_t k = 0; k < k_; k += lanes) {
      f32x16 pixels[m][m], transformed[size][size];
      results.load(k, pixels);
      transform_both_axes<m, size>(pixels, transformed,
                                   [](const auto& d, auto& z) { Transforms::output_gradient(d, z); });
      store_places(transformed, gradients + t * k_ + k, set_tiles_ * k_);
    }
  }

  /// Sums are [place][k][c].
  void multiply(const float* data, const float* gradients, float* sums, std::int64_t count, bool accumulate) const {
    const std::int64_t across = (c_ + chunk - 1) / chunk, down = (k_ + chunk_rows - 1) / chunk_rows;
    parallel_for(places * across * down, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t place = task / (across * down), c = task / down % across * chunk,
                           k = task % down * chunk_rows;
        const std::int64_t columns = width(c);
        small_gemm(SmallGemm<float>{std::min(chunk_rows, k_ - k), columns, count,
                                    gradients + place * set_tiles_ * k_ + k, 1, k_,
                                    data + place * set_tiles_ * c_ + c * set_tiles_, columns,
                                    sums + (place * k_ + k) * c_ + c, c_, accumulate});
      }
    });
  }

  template <typename W>
  void transform_back(const float* sums, W* dw) const {
    parallel_for(k_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        for (std::int64_t c = 0; c < c_; c += lanes) {
          f32x16 transformed[size][size], taps[3][3];
          load_places(sums + k * c_ + c, k_ * c_, transformed);
          transform_both_axes<size, 3>(transformed, taps,
                                       [](const auto& du, auto& dg) { Transforms::filter_gradient(du, dg); });
          for (int tap = 0; tap < 9; ++tap) store16(dw + (k * 9 + tap) * c_ + c, taps[tap / 3][tap % 3]);
        }
      }
    });
  }

  DType data_type_, weights_type_;
  WinogradTiles tiles_;
  std::int64_t c_, k_;
  std::int64_t set_tiles_;
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> winograd_grad_weight_candidates(const TensorDesc& x, const TensorDesc& dy,
                                                                     const TensorDesc& dw,
                                                                     const Conv2dAttributes& conv) {
  std::vector<std::unique_ptr<Kernel>> candidates;
  if (is_for_winograd(conv, x, dw, dy)) {
    candidates.push_back(std::make_unique<WinogradGradWeight<4>>(x, dy, dw, conv));
    candidates.push_back(std::make_unique<WinogradGradWeight<2>>(x, dy, dw, conv));
  }
  return candidates;
}

}  // namespace ptrain::cpu
