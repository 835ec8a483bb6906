// A task transforms some tiles of the data for all channels. Then, 64 output channels at a time, it multiplies them
// with the transformed filters, one matrix product per position in the tile, and transforms the sums back. Its data
// stays in the caches.
#include "core/cpu/kernels/conv2d/winograd.h"

#include "core/base/parallel.h"
#include "core/base/round_up.h"
#include "core/cpu/derived_weights.h"
#include "core/cpu/kernels/conv2d/winograd_products.h"
#include "core/cpu/kernels/conv2d/winograd_tiles.h"
#include "core/ops/math/activation_math.h"

namespace ptrain::cpu {
namespace {

template <int m, typename Products>
class WinogradConvolution final : public Kernel {
  using Transforms = Winograd<m>;
  using Value = typename Products::Value;
  using Element = typename Products::Element;
  static constexpr int size = Transforms::size;
  static constexpr std::int64_t places = size * size;
  static constexpr std::int64_t chunk = 64;  // output channels at a time
  static constexpr std::int64_t value_bytes = sizeof(Value), sum_bytes = sizeof(float);
  // Size of a task's tiles: a quarter of a second-level cache, leaving the rest to the filters.
  static constexpr std::int64_t wanted_bytes = std::int64_t{1} << 18;
  // Tiles per task: enough to amortise reading the filters, in steps of the product's rows.
  static constexpr std::int64_t fewest_tiles = 24, row_step = Products::depth == 1 ? 6 : 8;
  struct Form {
    FilterUse use;
    DType type;
    bool operator==(const Form&) const = default;
  };

 public:
  explicit WinogradConvolution(const WinogradProblem& problem)
      : use_(problem.use),
        tiles_{problem.data.shape, problem.result.shape,
               problem.use == FilterUse::convolution ? problem.conv.padding
                                                     : 2 * problem.conv.dilation - problem.conv.padding,
               problem.conv.dilation, m},
        data_type_(problem.data.dtype),
        weights_type_(problem.weights.dtype),
        activation_(problem.activation),
        in_(problem.data.shape[3]),
        out_(problem.result.shape[3]),
        filters_(problem.constant_weights, static_cast<std::size_t>(places * in_ * out_) * sizeof(Value)) {
    const std::int64_t threads = thread_count();
    const std::int64_t most = std::max(fewest_tiles, wanted_bytes / (places * (in_ * value_bytes + chunk * sum_bytes)));
    blocks_ = (tiles_.count() + most - 1) / most;
    if (blocks_ > 1) blocks_ = round_up(blocks_, threads);
    block_tiles_ = round_up((tiles_.count() + blocks_ - 1) / blocks_, row_step);
    blocks_ = (tiles_.count() + block_tiles_ - 1) / block_tiles_;
    splits_ = std::min(chunks(), (threads + blocks_ - 1) / blocks_);
  }

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(thread_count() * task_bytes()) + filters_.workspace_bytes();
  }
  KernelRecord record() const override { return {fmt::format("native:{}{}", Transforms::name, Products::suffix)}; }
  void weights_changed(ConstantStore& kept) override { filters_.weights_changed(kept); }

  void run(const KernelArgs& args) override {
    auto* workspace = static_cast<std::byte*>(args.workspace);
    const auto* filters =
        filters_.get<Element>(args.inputs[1], Form{use_, weights_type_}, reinterpret_cast<Element*>(workspace),
                              [&](Element* to) { transform_filters(args.inputs[1], to); });
    std::byte* scratch = workspace + filters_.workspace_bytes();
    parallel_for(blocks_ * splits_, 1, [&](std::int64_t first, std::int64_t last) {
      auto* data = reinterpret_cast<Value*>(scratch + omp_get_thread_num() * task_bytes());
      visit_floating(data_type_, [&](auto zero) {
        for (std::int64_t task = first; task < last; ++task) run_task<decltype(zero)>(args, filters, data, task);
      });
    });
  }

 private:
  std::int64_t chunks() const { return (out_ + chunk - 1) / chunk; }
  std::int64_t width(std::int64_t at) const { return std::min(chunk, out_ - at * chunk); }
  std::int64_t depth() const { return in_ / Products::depth; }
  std::int64_t data_plane() const { return plane_distance<Value>(block_tiles_ * in_); }    // [tiles, in]
  std::int64_t sums_plane() const { return plane_distance<float>(block_tiles_ * chunk); }  // [tiles, chunk]
  std::int64_t task_bytes() const { return places * (data_plane() * value_bytes + sums_plane() * sum_bytes); }

  /// Offset of the filters [depth, width] of a chunk and position.
  std::int64_t filter_offset(std::int64_t at, std::int64_t place) const {
    return (places * at * chunk + place * width(at)) * depth();
  }

  void transform_filters(const void* w, Element* filters) const {
    visit_floating(weights_type_, [&](auto zero) {
      const auto* weights = static_cast<const decltype(zero)*>(w);
      parallel_for(out_ / lanes, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t o = begin * lanes; o < end * lanes; o += lanes) {
          for (std::int64_t i = 0; i < in_; i += lanes) {
            if (use_ == FilterUse::convolution) {
              transform_square(weights, filters, o, i);
            } else {
              transform_rotated(weights, filters, o, i);
            }
          }
        }
      });
    });
  }

  /// Of consecutive input channels, which `load_taps` loads.
  template <typename LoadTaps>
  void store_filters(LoadTaps&& load_taps, Element* filters, std::int64_t out, std::int64_t in) const {
    f32x16 transformed[Products::depth][size][size];
    for (std::int64_t i = 0; i < Products::depth; ++i) {
      f32x16 taps[3][3];
      load_taps(in + i, taps);
      transform_both_axes<3, size>(taps, transformed[i], [](const auto& g, auto& u) { Transforms::filter(g, u); });
    }
    const std::int64_t at = out / chunk, across = width(at);
    store_places<size, Products>(
        transformed, filters + filter_offset(at, 0) + in / Products::depth * across + out % chunk, across * depth());
  }

  /// Weights [out, 3, 3, in], in blocks of sixteen by sixteen channels.
  template <typename W>
  void transform_square(const W* w, Element* filters, std::int64_t out, std::int64_t in) const {
    f32x16 columns[9][lanes];  // by tap and input channel, output channels in lanes
    for (int tap = 0; tap < 9; ++tap) {
      for (int o = 0; o < lanes; ++o) columns[tap][o] = load16(w + ((out + o) * 9 + tap) * in_ + in);
      transpose(columns[tap]);
    }
    const auto load_taps = [&](std::int64_t i, f32x16(&taps)[3][3]) {
      for (int tap = 0; tap < 9; ++tap) taps[tap / 3][tap % 3] = columns[tap][i - in];
    };
    for (std::int64_t i = in; i < in + lanes; i += Products::depth) store_filters(load_taps, filters, out, i);
  }

  /// Weights [in, 3, 3, out] of the convolution whose data gradient this is.
  template <typename W>
  void transform_rotated(const W* w, Element* filters, std::int64_t out, std::int64_t in) const {
    const auto load_taps = [&](std::int64_t i, f32x16(&taps)[3][3]) {
      for (int tap = 0; tap < 9; ++tap) taps[tap / 3][tap % 3] = load16(w + (i * 9 + 8 - tap) * out_ + out);
    };
    for (std::int64_t i = in; i < in + lanes; i += Products::depth) store_filters(load_taps, filters, out, i);
  }

  template <typename T>
  void run_task(const KernelArgs& args, const Element* filters, Value* data, std::int64_t task) const {
    const std::int64_t block = task / splits_, split = task % splits_;
    const std::int64_t first = block * block_tiles_, count = std::min(block_tiles_, tiles_.count() - first);
    auto* sums = reinterpret_cast<float*>(data + places * data_plane());
    transform_data(static_cast<const T*>(args.inputs[0]), data, first, count);
    for (std::int64_t at = chunks() * split / splits_; at < chunks() * (split + 1) / splits_; ++at) {
      const std::int64_t across = width(at);
      for (std::int64_t place = 0; place < places; ++place) {
        small_gemm(SmallGemm<Element>{count, across, depth(),
                                      reinterpret_cast<const Element*>(data + place * data_plane()), depth(), 1,
                                      filters + filter_offset(at, place), across, sums + place * sums_plane(), across});
      }
      visit_activation(activation_, [&](auto kind) {
        write_results<T, decltype(kind)::value>(args, sums, first, count, at * chunk, across);
      });
    }
  }

  template <typename T>
  void transform_data(const T* x, Value* data, std::int64_t first, std::int64_t count) const {
    for (std::int64_t t = 0; t < count; ++t) {
      const WinogradTile tile(tiles_, first + t);
      const PixelSquare<size, T> square(x + tile.image * tiles_.data[1] * tiles_.data[2] * in_, tiles_.data,
                                        tile.row - tiles_.padding, tile.column - tiles_.padding, tiles_.dilation);
      for (std::int64_t c = 0; c < in_; c += lanes) {
        f32x16 pixels[size][size], transformed[size][size];
        square.load(c, pixels);
        transform_both_axes<size, size>(pixels, transformed, [](const auto& d, auto& v) { Transforms::input(d, v); });
        store_places(transformed, data + t * in_ + c, data_plane());
      }
    }
  }

  template <typename T, Activation activation>
  void write_results(const KernelArgs& args, const float* sums, std::int64_t first, std::int64_t count,
                     std::int64_t channel, std::int64_t across) const {
    const bool epilogue = use_ == FilterUse::convolution;
    const auto optional = [&](std::size_t input) {
      return epilogue && input < args.inputs.size() ? args.inputs[input] : nullptr;
    };
    const auto* bias = static_cast<const float*>(optional(Conv2d::bias));
    const auto* residual = static_cast<const T*>(optional(Conv2d::residual));
    auto* y = static_cast<T*>(args.outputs[0]);
    const Shape& result = tiles_.result;
    for (std::int64_t t = 0; t < count; ++t) {
      const WinogradTile tile(tiles_, first + t);
      const std::int64_t step = tiles_.dilation;
      const std::int64_t rows = std::min<std::int64_t>(m, ceil_divided(result[1] - tile.row, step));
      const std::int64_t columns = std::min<std::int64_t>(m, ceil_divided(result[2] - tile.column, step));
      const std::int64_t corner = ((tile.image * result[1] + tile.row) * result[2] + tile.column) * out_ + channel;
      for (std::int64_t c = 0; c < across; c += lanes) {
        f32x16 transformed[size][size], pixels[m][m];
        load_places(sums + t * across + c, sums_plane(), transformed);
        transform_both_axes<size, m>(transformed, pixels, [](const auto& s, auto& v) { Transforms::output(s, v); });
        const f32x16 shift = bias == nullptr ? f32x16{} : load16(bias + channel + c);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            const std::int64_t at = corner + (i * result[2] + j) * step * out_ + c;
            f32x16 v = pixels[i][j] + shift;
            if (residual != nullptr) v += load16(residual + at);
            store16(y + at, activated<activation>(v));
          }
        }
      }
    }
  }

  template <Activation activation>
  PTRAIN_INLINE static f32x16 activated(f32x16 v) {
    if constexpr (activation != Activation::none) {
      float values[lanes];
      store16(values, v);
      for (float& value : values) value = activate<activation>(value);
      v = load16(values);
    }
    return v;
  }

  FilterUse use_;
  WinogradTiles tiles_;
  DType data_type_, weights_type_;
  Activation activation_;
  std::int64_t in_, out_;
  std::int64_t blocks_ = 1, block_tiles_ = 1;  // tasks along the tiles
  std::int64_t splits_ = 1;                    // tasks along the output channels, where there are too few blocks
  DerivedWeights filters_;                     // transformed
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> winograd_candidates(const WinogradProblem& problem) {
  std::vector<std::unique_ptr<Kernel>> candidates;
  if (is_for_winograd(problem.conv, problem.data, problem.weights, problem.result)) {
    candidates.push_back(std::make_unique<WinogradConvolution<4, FloatProducts>>(problem));
    candidates.push_back(std::make_unique<WinogradConvolution<2, FloatProducts>>(problem));
    visit_low_products(problem.data.dtype, [&](auto products) {
      candidates.push_back(std::make_unique<WinogradConvolution<2, decltype(products)>>(problem));
    });
  }
  return candidates;
}

}  // namespace ptrain::cpu
