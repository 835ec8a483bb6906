// dw[k][c] = sum over pixels m of dy[m][k] x[m][c]. The result is cut into blocks and, when there are fewer blocks than
// threads, the pixels into splits. A task takes one block and one split: it packs some hundred pixels of dy and x into
// tiles (dy transposed, both with neighbouring pixels interleaved, as the tile product wants them), multiplies them
// into the fp32 block, and goes on to the next pixels.
#include "core/cpu/pointwise_weight_gradient.h"

#include "core/ops/conv2d.h"

#ifdef __AMX_BF16__

#include "core/base/parallel.h"
#include "core/cpu/convert.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace ptrain::cpu {
namespace {

constexpr std::int64_t tile_rows = 16;    // of any tile
constexpr std::int64_t tile_pixels = 32;  // pixels that one tile product sums over
constexpr std::int64_t tile_elements = tile_rows * tile_pixels;
constexpr std::int64_t most_channels = 512;  // a side of a block: 1 MiB of fp32
constexpr std::int64_t chunk_pixels = 256;   // packed at a time

/// Asks the kernel for the tile registers (Linux 5.16 and later want that).
bool request_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> bytes_per_row{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};

/// Sixteen channels of two pixels, interleaved: lane c holds (first[c], second[c]).
__m512i interleave(const bf16* first, const bf16* second) {
  const __m512i low = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first)));
  const __m512i high =
      _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(second)));
  return _mm512_or_si512(low, _mm512_maskz_slli_epi32(0xffff, high, 16));
}

/// Transposes sixteen rows of sixteen 32-bit lanes.
void transpose(__m512i (&r)[16]) {
  constexpr __mmask16 all = 0xffff;
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_maskz_unpacklo_epi32(all, r[i], r[i + 1]);
    t[i + 1] = _mm512_maskz_unpackhi_epi32(all, r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_maskz_unpacklo_epi64(0xff, t[i], t[i + 2]);
    r[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, t[i], t[i + 2]);
    r[i + 2] = _mm512_maskz_unpacklo_epi64(0xff, t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_maskz_unpackhi_epi64(0xff, t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_maskz_shuffle_i32x4(all, r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_maskz_shuffle_i32x4(all, r[i], r[i + 4], 0xdd);
    t[i + 8] = _mm512_maskz_shuffle_i32x4(all, r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_maskz_shuffle_i32x4(all, r[i + 8], r[i + 12], 0xdd);
  }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_maskz_shuffle_i32x4(all, t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_maskz_shuffle_i32x4(all, t[i], t[i + 8], 0xdd);
  }
}

class PointwiseWeightGradient final : public Kernel {
 public:
  explicit PointwiseWeightGradient(const KernelContext& context)
      : x_(context.inputs[0].shape),
        dy_(context.inputs[1].shape),
        dw_(context.outputs[0]),
        stride_(context.op_as<Conv2dGradWeight>().attrs().conv.stride) {
    blocks_k_ = (k() + most_channels - 1) / most_channels;
    blocks_c_ = (c() + most_channels - 1) / most_channels;
    const std::int64_t blocks = blocks_k_ * blocks_c_, threads = thread_count();
    splits_ = std::min((threads + blocks - 1) / blocks, (pixels() + chunk_pixels - 1) / chunk_pixels);
  }

  std::size_t workspace_bytes() const override {
    const std::int64_t packed = tasks() * 2 * most_channels * chunk_pixels * static_cast<std::int64_t>(sizeof(bf16));
    return static_cast<std::size_t>(packed +
                                    (direct() ? 0 : splits_ * k() * c() * static_cast<std::int64_t>(sizeof(float))));
  }
  std::string implementation() const override { return "native:amx_pointwise"; }

  void run(const KernelArgs& args) override {
    auto* packed = static_cast<bf16*>(args.workspace);
    float* sums = direct() ? static_cast<float*>(args.outputs[0])
                           : reinterpret_cast<float*>(packed + tasks() * 2 * most_channels * chunk_pixels);
    const auto* x = static_cast<const bf16*>(args.inputs[0]);
    const auto* dy = static_cast<const bf16*>(args.inputs[1]);
    parallel_for(tasks(), 1, [&](std::int64_t first, std::int64_t last) {
      const TileConfig config;
      _tile_loadconfig(&config);
      for (std::int64_t task = first; task < last; ++task) {
        run_task(x, dy, packed + first * 2 * most_channels * chunk_pixels, sums, task);
      }
      _tile_release();
    });
    if (!direct()) join(sums, args.outputs[0]);
  }

 private:
  std::int64_t k() const { return dy_[3]; }
  std::int64_t c() const { return x_[3]; }
  std::int64_t pixels() const { return dy_[0] * dy_[1] * dy_[2]; }
  std::int64_t tasks() const { return blocks_k_ * blocks_c_ * splits_; }
  /// Whether tasks accumulate in the output itself.
  bool direct() const { return splits_ == 1 && dw_.dtype == DType::f32; }

  /// The pixel of x that output pixel `m` multiplies.
  const bf16* source(const bf16* x, std::int64_t m) const {
    if (stride_ == 1) return x + m * c();
    const std::int64_t q = m % dy_[2], p = m / dy_[2] % dy_[1], n = m / (dy_[2] * dy_[1]);
    return x + ((n * x_[1] + p * stride_) * x_[2] + q * stride_) * c();
  }

  void run_task(const bf16* x, const bf16* dy, bf16* packed, float* sums, std::int64_t task) const {
    const std::int64_t split = task % splits_, block = task / splits_;
    const std::int64_t k0 = block / blocks_c_ * most_channels, c0 = block % blocks_c_ * most_channels;
    const std::int64_t nk = std::min(most_channels, k() - k0), nc = std::min(most_channels, c() - c0);
    const std::int64_t begin = pixels() * split / splits_, end = pixels() * (split + 1) / splits_;
    float* block_sums = sums + split * k() * c() + k0 * c() + c0;
    bf16* packed_x = packed + most_channels * chunk_pixels;
    for (std::int64_t m = begin; m < end; m += chunk_pixels) {
      const std::int64_t count = std::min(chunk_pixels, end - m);
      const std::int64_t steps = (count + tile_pixels - 1) / tile_pixels;
      for (std::int64_t step = 0; step < steps; ++step) {
        pack_step(x, dy, packed, packed_x, m + step * tile_pixels, end, step, steps, k0, nk, c0, nc);
      }
      multiply(packed, packed_x, block_sums, steps, nk, nc, m > begin);
    }
  }

  /// Packs 32 pixels from `m` on; those past `end` are zeros.
  void pack_step(const bf16* x, const bf16* dy, bf16* packed_dy, bf16* packed_x, std::int64_t m, std::int64_t end,
                 std::int64_t step, std::int64_t steps, std::int64_t k0, std::int64_t nk, std::int64_t c0,
                 std::int64_t nc) const {
    static constexpr std::array<bf16, most_channels> zeros{};
    std::array<const bf16*, tile_pixels> from_dy, from_x;
    for (std::int64_t i = 0; i < tile_pixels; ++i) {
      const auto at = static_cast<std::size_t>(i);
      from_dy[at] = m + i < end ? dy + (m + i) * k() + k0 : zeros.data();
      from_x[at] = m + i < end ? source(x, m + i) + c0 : zeros.data();
    }
    for (std::int64_t group = 0; group < nk / tile_rows; ++group) {
      __m512i rows[16];
      for (std::size_t pair = 0; pair < 16; ++pair) {
        rows[pair] = interleave(from_dy[2 * pair] + group * tile_rows, from_dy[2 * pair + 1] + group * tile_rows);
      }
      transpose(rows);
      bf16* tile = packed_dy + (group * steps + step) * tile_elements;
      for (std::int64_t row = 0; row < 16; ++row) _mm512_store_si512(tile + row * tile_pixels, rows[row]);
    }
    for (std::int64_t group = 0; group < nc / tile_rows; ++group) {
      bf16* tile = packed_x + (group * steps + step) * tile_elements;
      for (std::size_t pair = 0; pair < 16; ++pair) {
        _mm512_store_si512(tile + static_cast<std::int64_t>(pair) * tile_pixels,
                           interleave(from_x[2 * pair] + group * tile_rows, from_x[2 * pair + 1] + group * tile_rows));
      }
    }
  }

  /// sums[nk][nc] (+)= packed dy x packed x, in squares of two by two tiles.
  void multiply(const bf16* packed_dy, const bf16* packed_x, float* sums, std::int64_t steps, std::int64_t nk,
                std::int64_t nc, bool accumulate) const {
    const std::int64_t group = steps * tile_elements;
    const auto stride = static_cast<std::size_t>(c()) * sizeof(float);
    for (std::int64_t j = 0; j < nc / 32; ++j) {
      for (std::int64_t i = 0; i < nk / 32; ++i) {
        float* out = sums + i * 32 * c() + j * 32;
        if (accumulate) {
          _tile_loadd(0, out, stride);
          _tile_loadd(1, out + 16, stride);
          _tile_loadd(2, out + 16 * c(), stride);
          _tile_loadd(3, out + 16 * c() + 16, stride);
        } else {
          _tile_zero(0);
          _tile_zero(1);
          _tile_zero(2);
          _tile_zero(3);
        }
        const bf16 *a = packed_dy + 2 * i * group, *b = packed_x + 2 * j * group;
        for (std::int64_t step = 0; step < steps; ++step, a += tile_elements, b += tile_elements) {
          _tile_loadd(4, a, 64);
          _tile_loadd(6, b, 64);
          _tile_loadd(7, b + group, 64);
          _tile_loadd(5, a + group, 64);
          _tile_dpbf16ps(0, 4, 6);
          _tile_dpbf16ps(1, 4, 7);
          _tile_dpbf16ps(2, 5, 6);
          _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, out, stride);
        _tile_stored(1, out + 16, stride);
        _tile_stored(2, out + 16 * c(), stride);
        _tile_stored(3, out + 16 * c() + 16, stride);
      }
    }
  }

  /// Adds the splits' sums and rounds to the output's dtype.
  void join(float* sums, void* out) const {
    const std::int64_t count = k() * c();
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

  Shape x_, dy_;
  TensorDesc dw_;
  std::int64_t stride_;
  std::int64_t blocks_k_, blocks_c_, splits_;
};

}  // namespace

std::unique_ptr<Kernel> make_pointwise_weight_gradient(const KernelContext& context) {
  const Conv2dGradWeight::Attributes& attrs = context.op_as<Conv2dGradWeight>().attrs();
  const Shape& w = attrs.weight.shape;
  const bool applies = context.inputs[0].dtype == DType::bf16 && w[1] == 1 && w[2] == 1 && attrs.conv.padding == 0 &&
                       attrs.conv.groups == 1 && w[0] % 32 == 0 && w[3] % 32 == 0;
  if (!applies || !request_tiles()) return nullptr;
  return std::make_unique<PointwiseWeightGradient>(context);
}

}  // namespace ptrain::cpu

#else

namespace ptrain::cpu {
std::unique_ptr<Kernel> make_pointwise_weight_gradient(const KernelContext&) { return nullptr; }
}  // namespace ptrain::cpu

#endif
