// One instruction multiplies the four bytes of each lane and adds up their products. Here these are what a column of
// the filter reads of a channel: each column of pixels is loaded once, its rows' bytes are interleaved, and it is
// multiplied for all the results that it is part of, whose sums stay in registers.
#include "core/cpu/kernels/quantization/depthwise_int8.h"

#ifdef __AVX512VNNI__

#include "core/base/parallel.h"
#include "core/cpu/derived_weights.h"
#include "core/cpu/simd/vector.h"
#include "core/ops/math/activation_math.h"
#include "core/ops/quantization/quantized_conv2d.h"

namespace ptrain::cpu {
namespace {

constexpr int block_channels = 64;  // of a task
constexpr int fours = 4;            // bytes of a word, and vectors of words that have as many lanes as one of bytes
constexpr std::int64_t task_pixels = 64;  // that a thread gets, at least
constexpr std::uint8_t sign_bit = 0x80;   // turns s8 to u8, larger by 128

/// Of some channels: bytes in one register, or words in four.
template <int channels>
using Bytes = Register<std::uint8_t, channels>;
template <int channels>
using Words = Register<std::int32_t, channels / fours>;
template <int channels>
using Floats = Register<float, channels / fours>;

/// Of each sixteen bytes of `a` and `b` by turns a T, from the lower half (`half` 0) or the upper (1).
template <int half, typename T, typename V>
PTRAIN_INLINE V interleave(V a, V b) {
  constexpr int count = sizeof(V) / sizeof(T), group = 16 / sizeof(T);
  using Units = Register<T, count>;
  const auto first = reinterpret_cast<Units>(a), second = reinterpret_cast<Units>(b);
  return by_lanes<count>([&](auto... to) {
    return reinterpret_cast<V>(__builtin_shufflevector(
        first, second, (to / group * group + half * group / 2 + to % group / 2 + to % 2 * count)...));
  });
}

template <typename V>
PTRAIN_INLINE V load(const void* from) {
  V v;
  memcpy(&v, from, sizeof v);
  return v;
}

PTRAIN_INLINE Words<64> add_products(Words<64> sums, Bytes<64> x, Words<64> w) {
  return reinterpret_cast<Words<64>>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(w)));
}
PTRAIN_INLINE Words<32> add_products(Words<32> sums, Bytes<32> x, Words<32> w) {
  return reinterpret_cast<Words<32>>(
      _mm256_dpbusd_epi32(reinterpret_cast<__m256i>(sums), reinterpret_cast<__m256i>(x), reinterpret_cast<__m256i>(w)));
}

/// The nearest integers to what is at most `most`; the least one for NaN.
PTRAIN_INLINE Words<64> round_floats(Floats<64> v, float most) {
  const __m512 bounded = _mm512_maskz_min_ps(all_lanes, _mm512_set1_ps(most), reinterpret_cast<__m512>(v));
  return reinterpret_cast<Words<64>>(_mm512_maskz_cvtps_epi32(all_lanes, bounded));
}
PTRAIN_INLINE Words<32> round_floats(Floats<32> v, float most) {
  return reinterpret_cast<Words<32>>(
      _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(most), reinterpret_cast<__m256>(v))));
}

/// The bytes of a mask's channels; the others are zero, and are not written.
template <int channels>
PTRAIN_INLINE Bytes<channels> load_bytes(const std::uint8_t* from, std::uint64_t mask) {
  if constexpr (channels == 64) {
    return reinterpret_cast<Bytes<64>>(_mm512_maskz_loadu_epi8(mask, from));
  } else {
    return reinterpret_cast<Bytes<32>>(_mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), from));
  }
}
PTRAIN_INLINE void store_bytes(std::uint8_t* to, std::uint64_t mask, Bytes<64> v) {
  _mm512_mask_storeu_epi8(to, mask, reinterpret_cast<__m512i>(v));
}
PTRAIN_INLINE void store_bytes(std::uint8_t* to, std::uint64_t mask, Bytes<32> v) {
  _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(mask), reinterpret_cast<__m256i>(v));
}

/// Saturated, and in the order before they were interleaved.
PTRAIN_INLINE Bytes<64> to_bytes(const Words<64> (&words)[fours], bool are_signed) {
  const auto get = [&](int i) { return reinterpret_cast<__m512i>(words[i]); };
  const __m512i low = _mm512_packs_epi32(get(0), get(1)), high = _mm512_packs_epi32(get(2), get(3));
  return reinterpret_cast<Bytes<64>>(are_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high));
}
PTRAIN_INLINE Bytes<32> to_bytes(const Words<32> (&words)[fours], bool are_signed) {
  const auto get = [&](int i) { return reinterpret_cast<__m256i>(words[i]); };
  const __m256i low = _mm256_packs_epi32(get(0), get(1)), high = _mm256_packs_epi32(get(2), get(3));
  return reinterpret_cast<Bytes<32>>(are_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high));
}

/// What a block of channels is multiplied by.
template <int side>
struct alignas(64) Block {
  static constexpr int words = (side + fours - 1) / fours;  // of a column of the filter
  /// Interleaving takes channel c to vector c % 16 / 4, word c / 16 * 4 + c % 4.
  template <typename T>
  struct PerChannel {
    T vectors[fours][block_channels / fours];
    T& operator[](std::int64_t c) { return vectors[c % 16 / 4][c / 16 * 4 + c % 4]; }
  };

  PerChannel<std::int32_t> weights[side][words];
  PerChannel<std::int32_t> start;  // of sums: less what x is larger by
  PerChannel<float> factors, offsets;
};

template <int side>
class DepthwiseInt8 final : public Kernel {
  using Op = QuantizedConv2d;
  using Data = Block<side>;

  /// All that blocks are made from but the weights.
  struct Form {
    bool x_is_signed;
    float x_scale, unit;
    const void *w_scale, *bias;
    bool operator==(const Form&) const = default;
  };

 public:
  explicit DepthwiseInt8(const KernelContext& context)
      : conv_(context.op_as<Op>().attrs().conv),
        activation_(context.op_as<Op>().attrs().activation),
        x_format_(context.op_as<Op>().attrs().x),
        y_format_(*context.op_as<Op>().attrs().y),
        x_(context.inputs[Op::x].shape),
        y_(context.outputs[0].shape),
        most_(most()),
        blocks_((y_[3] + block_channels - 1) / block_channels),
        data_(context.options.constant_weights, static_cast<std::size_t>(blocks_) * sizeof(Data)) {}

  std::size_t workspace_bytes() const override { return data_.workspace_bytes(); }
  KernelRecord record() const override { return {"native:depthwise_vnni"}; }
  void weights_changed(ConstantStore& kept) override { data_.weights_changed(kept); }

  void run(const KernelArgs& args) override {
    const Form form{x_is_signed(), x_format_.scale, unit(), args.inputs[Op::w_scale], find_bias(args)};
    const auto* data =
        data_.get<Data>(args.inputs[Op::w], form, args.workspace, [&](Data* to) { make_data(args, to); });
    const auto* x = static_cast<const std::uint8_t*>(args.inputs[Op::x]);
    auto* y = static_cast<std::uint8_t*>(args.outputs[0]);
    const std::int64_t least = std::max<std::int64_t>(1, task_pixels / y_[2]);
    parallel_for(y_[0] * y_[1] * blocks_, least, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t block = task % blocks_;
        choose_row(data[block], x, y, task / blocks_, block * block_channels);
      }
    });
  }

 private:
  static const float* find_bias(const KernelArgs& args) {
    return args.inputs.size() > Op::bias ? static_cast<const float*>(args.inputs[Op::bias]) : nullptr;
  }

  void make_data(const KernelArgs& args, Data* to) const {
    const auto* w = static_cast<const std::int8_t*>(args.inputs[Op::w]);
    const auto* w_scale = static_cast<const float*>(args.inputs[Op::w_scale]);
    const float* bias = find_bias(args);
    for (std::int64_t channel = 0; channel < y_[3]; ++channel) {
      const std::int64_t c = channel % block_channels;
      Data& data = to[channel / block_channels];
      if (c == 0) data = {};
      std::int32_t sum = 0;
      for (int i = 0; i < side * side; ++i) {
        const std::int8_t weight = w[channel * side * side + i];
        const int r = i / side, s = i % side;
        data.weights[s][r / fours][c] |= std::int32_t{static_cast<std::uint8_t>(weight)} << r % fours * 8;
        sum += weight;
      }
      data.start[c] = x_is_signed() ? -sum * sign_bit : 0;
      data.factors[c] = x_format_.scale * w_scale[channel] * unit();
      data.offsets[c] = bias == nullptr ? 0 : bias[channel] * unit();
    }
  }

  bool x_is_signed() const { return x_format_.dtype == DType::s8; }
  bool y_is_signed() const { return y_format_.dtype == DType::s8; }
  /// Whether scaling and bounding a sum is all there is to do.
  bool rounds_only() const {
    const bool cuts_off = activation_ == Activation::relu || activation_ == Activation::relu6;
    return activation_ == Activation::none || (cuts_off && !y_is_signed());
  }
  float unit() const { return rounds_only() ? 1 / y_format_.scale : 1; }
  float most() const {
    const float integer = y_is_signed() ? 127 : 255;
    return activation_ == Activation::relu6 ? std::min(integer, 6 / y_format_.scale) : integer;
  }

  /// The pixels under a row of filters, some of their channels.
  struct Pixels {
    const std::uint8_t* rows[side];  // each one's first pixel, or zeros
    std::int64_t steps[side];        // to the next
    std::int64_t columns;
    std::uint64_t mask;  // of channels
  };

  /// Computes a row of y, from a channel on as many as are of its block.
  void choose_row(const Data& data, const std::uint8_t* x, std::uint8_t* y, std::int64_t row,
                  std::int64_t channel) const {
    const std::int64_t image = row / y_[1], top = row % y_[1] * conv_.stride - conv_.padding;
    const std::int64_t channels = std::min<std::int64_t>(block_channels, x_[3] - channel);
    Pixels pixels;
    pixels.columns = x_[2];
    pixels.mask = ~std::uint64_t{0} >> (block_channels - channels);
    for (int r = 0; r < side; ++r) {
      const std::int64_t h = top + r;
      const bool inside = 0 <= h && h < x_[1];
      pixels.rows[r] = inside ? x + (image * x_[1] + h) * x_[2] * x_[3] + channel : nothing;
      pixels.steps[r] = inside ? x_[3] : 0;
    }
    std::uint8_t* to = y + row * y_[2] * y_[3] + channel;
    const auto of_stride = [&]<int width, bool x_is_signed>() {
      if (conv_.stride == 1) return run_row<1, width, x_is_signed>(data, pixels, to);
      run_row<2, width, x_is_signed>(data, pixels, to);
    };
    const auto of_width = [&]<int width>() {
      if (x_is_signed()) return of_stride.template operator()<width, true>();
      of_stride.template operator()<width, false>();
    };
    if (channels <= block_channels / 2) return of_width.template operator()<block_channels / 2>();
    of_width.template operator()<block_channels>();
  }

  /// Each column of y needs `stride` more columns of pixels than the one before; these are part of `open` results.
  template <int stride, int channels, bool x_is_signed>
  void run_row(const Data& data, const Pixels& pixels, std::uint8_t* to) const {
    constexpr int open = (side + stride - 1) / stride;
    Words<channels> filter[side][Data::words][fours];  // in registers, as far as these go
    Words<channels> start[fours], sums[open][fours];
#pragma GCC unroll 4
    for (int v = 0; v < fours; ++v) {
      start[v] = x_is_signed ? load<Words<channels>>(data.start.vectors[v]) : Words<channels>{};
#pragma GCC unroll 5
      for (int s = 0; s < side; ++s) {
#pragma GCC unroll 2
        for (int i = 0; i < Data::words; ++i) filter[s][i][v] = load<Words<channels>>(data.weights[s][i].vectors[v]);
      }
#pragma GCC unroll 5
      for (int i = 0; i < open; ++i) sums[i][v] = start[v];
    }
    // Before the first result is complete, others are whose columns lie left of y.
    for (std::int64_t column = 1 - open; column < y_[2]; ++column) {
#pragma GCC unroll 2
      for (int i = 0; i < stride; ++i) {
        Bytes<channels> x[Data::words][fours];
        load_column<channels, x_is_signed>(pixels, (column - 1) * stride + side + i - conv_.padding, x);
#pragma GCC unroll 5
        for (int later = 0; later * stride <= side - stride + i; ++later) {
#pragma GCC unroll 2
          for (int word = 0; word < Data::words; ++word) {
#pragma GCC unroll 4
            for (int v = 0; v < fours; ++v) {
              sums[later][v] =
                  add_products(sums[later][v], x[word][v], filter[side - stride + i - later * stride][word][v]);
            }
          }
        }
      }
      if (column >= 0) store<channels>(data, sums[0], pixels.mask, to + column * y_[3]);
#pragma GCC unroll 4
      for (int v = 0; v < fours; ++v) {
#pragma GCC unroll 5
        for (int i = 0; i + 1 < open; ++i) sums[i][v] = sums[i + 1][v];
        sums[open - 1][v] = start[v];
      }
    }
  }

  /// x[i][v]: four rows, from row 4 i on, of each channel of vector v.
  template <int channels, bool x_is_signed>
  PTRAIN_INLINE static void load_column(const Pixels& pixels, std::int64_t at,
                                        Bytes<channels> (&x)[Data::words][fours]) {
    const bool inside = 0 <= at && at < pixels.columns;
#pragma GCC unroll 2
    for (int i = 0; i < Data::words; ++i) {
      Bytes<channels> rows[fours];
#pragma GCC unroll 4
      for (int j = 0; j < fours; ++j) {
        const int r = i * fours + j;
        rows[j] = Bytes<channels>{};
        if (r >= side) continue;
        if (inside) rows[j] = load_bytes<channels>(pixels.rows[r] + at * pixels.steps[r], pixels.mask);
        if (x_is_signed) rows[j] ^= sign_bit;
      }
      using Single = std::uint8_t;
      using Pair = std::uint16_t;
      const Bytes<channels> low[]{interleave<0, Single>(rows[0], rows[1]), interleave<0, Single>(rows[2], rows[3])};
      const Bytes<channels> high[]{interleave<1, Single>(rows[0], rows[1]), interleave<1, Single>(rows[2], rows[3])};
      x[i][0] = interleave<0, Pair>(low[0], low[1]);
      x[i][1] = interleave<1, Pair>(low[0], low[1]);
      x[i][2] = interleave<0, Pair>(high[0], high[1]);
      x[i][3] = interleave<1, Pair>(high[0], high[1]);
    }
  }

  template <int channels>
  PTRAIN_INLINE void store(const Data& data, const Words<channels> (&sums)[fours], std::uint64_t mask,
                           std::uint8_t* to) const {
    Floats<channels> values[fours];
#pragma GCC unroll 4
    for (int v = 0; v < fours; ++v) {
      const auto sum = __builtin_convertvector(sums[v], Floats<channels>);
      values[v] =
          sum * load<Floats<channels>>(data.factors.vectors[v]) + load<Floats<channels>>(data.offsets.vectors[v]);
    }
    if (!rounds_only()) {
      float activated[channels];
      memcpy(activated, values, sizeof activated);
      activate(activated, channels);
#pragma GCC unroll 4
      for (int v = 0; v < fours; ++v) values[v] = load<Floats<channels>>(activated + v * channels / fours);
    }
    Words<channels> words[fours];
#pragma GCC unroll 4
    for (int v = 0; v < fours; ++v) words[v] = round_floats(values[v], most_);
    store_bytes(to, mask, to_bytes(words, y_is_signed()));
  }

  [[gnu::noinline]] void activate(float* values, int count) const {
    visit_activation(activation_, [&](auto kind) {
      for (int i = 0; i < count; ++i) values[i] = ptrain::activate<kind>(values[i]) / y_format_.scale;
    });
  }

  alignas(64) static constexpr std::uint8_t nothing[block_channels] = {};

  Conv2dAttributes conv_;
  Activation activation_;
  QuantizedFormat x_format_, y_format_;
  Shape x_, y_;
  float most_;
  std::int64_t blocks_;
  DerivedWeights data_;
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise_int8(const KernelContext& context) {
  using Op = QuantizedConv2d;
  const QuantizedConv2dAttributes& attributes = context.op_as<Op>().attrs();
  const Shape& w = context.inputs[Op::w].shape;
  const std::int64_t channels = context.inputs[Op::x].shape[3];
  if (attributes.conv.groups != channels || w[0] != channels) return nullptr;
  if (attributes.conv.dilation != 1 || attributes.conv.stride > 2 || w[1] != w[2]) return nullptr;
  if (!attributes.y || has_input(context.inputs, Op::residual)) return nullptr;
  if (w[1] == 3) return std::make_unique<DepthwiseInt8<3>>(context);
  if (w[1] == 5) return std::make_unique<DepthwiseInt8<5>>(context);
  return nullptr;
}

}  // namespace ptrain::cpu

#else

namespace ptrain::cpu {

std::unique_ptr<Kernel> make_depthwise_int8(const KernelContext& /*context*/) { return nullptr; }

}  // namespace ptrain::cpu

#endif
