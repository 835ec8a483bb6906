// dw = G^T [sum over tiles of (A dy A^T) * (B^T x B)] G: a few hundred tiles of dy and x at a time are transformed,
// then multiplied, for each position in the tile a matrix product over the tiles, into sums that are transformed back
// at the end.
#include "core/base/parallel.h"
#include "core/cpu/kernels/conv2d/winograd.h"
#include "core/cpu/kernels/conv2d/winograd_products.h"
#include "core/cpu/kernels/conv2d/winograd_tiles.h"

#include <array>

namespace ptrain::cpu {
namespace {

template <int m, typename Products>
class WinogradGradWeight final : public Kernel {
  using Transforms = Winograd<m>;
  using Element = typename Products::Element;  // of tiles that follow one another
  static constexpr int size = Transforms::size;
  static constexpr std::int64_t places = size * size;
  static constexpr std::int64_t chunk = 64, chunk_rows = 48;  // of x's and dy's channels: a task's product
  // Threads have tiles and sums of their own where all sums are small and tiles many: cores may be far from each other,
  // and then read slowly what another wrote. Otherwise they share a set of tiles, in the third-level cache, and sums.
  static constexpr std::int64_t most_sum_bytes = std::int64_t{1} << 23, own_bytes = std::int64_t{1} << 19;
  static constexpr std::int64_t shared_bytes = std::int64_t{1} << 23;
  static constexpr std::int64_t fewest_tiles = 128, most_tiles = 1024;  // at a time

 public:
  WinogradGradWeight(const TensorDesc& x, const TensorDesc& dy, const TensorDesc& dw, const Conv2dAttributes& conv)
      : data_type_(x.dtype),
        weights_type_(dw.dtype),
        tiles_{x.shape, dy.shape, conv.padding, conv.dilation, m},
        c_(x.shape[3]),
        k_(dy.shape[3]),
        parts_(divide_tiles()),
        set_tiles_(round_up(std::min(tiles_.count(), wanted_tiles()), Products::depth)) {}

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(parts_) * part_bytes(); }
  KernelRecord record() const override { return {fmt::format("native:{}{}", Transforms::name, Products::suffix)}; }

  void run(const KernelArgs& args) override {
    visit_floating(data_type_, [&](auto zero) {
      const auto* x = static_cast<const decltype(zero)*>(args.inputs[Conv2dGradWeight::x]);
      const auto* dy = static_cast<const decltype(zero)*>(args.inputs[Conv2dGradWeight::dy]);
      if (parts_ == 1) {
        sum_part(x, dy, args.workspace, 0, [](std::int64_t count, auto&& each) { parallel_for(count, 1, each); });
        return;
      }
      parallel_for(parts_, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
          sum_part(x, dy, args.workspace, part, [](std::int64_t count, auto&& each) { each(0, count); });
        }
      });
    });
    visit_floating(weights_type_,
                   [&](auto zero) { transform_back(args.workspace, static_cast<decltype(zero)*>(args.outputs[0])); });
  }

 private:
  static std::int64_t elements_of(std::int64_t tiles) { return ceil_divided(tiles, Products::depth); }
  std::int64_t set_elements() const { return elements_of(set_tiles_); }
  std::int64_t plane(std::int64_t channels) const { return plane_distance<Element>(set_elements() * channels); }
  std::int64_t sum_floats() const { return places * k_ * c_; }
  std::int64_t divide_tiles() const {
    const std::int64_t threads = thread_count();
    const bool small = threads * sum_floats() * static_cast<std::int64_t>(sizeof(float)) <= most_sum_bytes;
    return small && tiles_.count() >= threads * fewest_tiles ? threads : 1;
  }
  std::int64_t wanted_tiles() const {
    const std::int64_t bytes = places * (c_ + k_) * static_cast<std::int64_t>(sizeof(Element)) / Products::depth;
    return std::clamp((parts_ > 1 ? own_bytes : shared_bytes) / bytes, fewest_tiles, most_tiles);
  }
  std::size_t part_bytes() const {
    const std::int64_t elements = places * (plane(c_) + plane(k_));
    return static_cast<std::size_t>(elements) * sizeof(Element) +
           static_cast<std::size_t>(sum_floats()) * sizeof(float);
  }
  float* get_sums(void* workspace, std::int64_t part) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(workspace) + static_cast<std::size_t>(part) * part_bytes());
  }
  std::int64_t width(std::int64_t channel) const { return std::min(chunk, c_ - channel / chunk * chunk); }

  /// The sums of a part of the tiles; `for_all` divides work among the threads that share the part.
  template <typename T, typename ForAll>
  void sum_part(const T* x, const T* dy, void* workspace, std::int64_t part, ForAll&& for_all) const {
    float* sums = get_sums(workspace, part);
    auto* data = reinterpret_cast<Element*>(sums + sum_floats());
    Element* gradients = data + places * plane(c_);
    const std::int64_t begin = tiles_.count() * part / parts_, end = tiles_.count() * (part + 1) / parts_;
    for (std::int64_t first = begin; first < end; first += set_tiles_) {
      const std::int64_t last = std::min(first + set_tiles_, end), elements = elements_of(last - first);
      for_all(elements, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t at = from; at < to; ++at) transform_tiles(x, dy, data, gradients, first, last, at);
      });
      multiply(data, gradients, sums, elements, first > begin, for_all);
    }
  }

  /// Transforms `count` squares of all channels, and passes `store` sixteen channels of them at a time.
  template <int from, typename Square, typename OneAxis, typename Store>
  static void transform_squares(Square&& square, std::int64_t count, std::int64_t channels, OneAxis&& one_axis,
                                Store&& store) {
    const std::array squares{square(0), square(count - 1)};
    f32x16 transformed[Products::depth][size][size] = {};
    for (std::int64_t c = 0; c < channels; c += lanes) {
      for (std::int64_t i = 0; i < count; ++i) {
        f32x16 pixels[from][from];
        squares[static_cast<std::size_t>(i)].load(c, pixels);
        transform_both_axes<from, size>(pixels, transformed[i], one_axis);
      }
      store(c, transformed);
    }
  }

  /// The tiles of element `at` of the set from tile `first` to `last`; those after that are zeros. Data is
  /// [place][chunk][element][channel of the chunk], gradients are [place][element][k].
  template <typename T>
  void transform_tiles(const T* x, const T* dy, Element* data, Element* gradients, std::int64_t first,
                       std::int64_t last, std::int64_t at) const {
    const Shape &from = tiles_.data, &to = tiles_.result;
    const std::int64_t number = first + at * Products::depth;
    const std::int64_t count = std::min(Products::depth, last - number);
    const auto place = [&](std::int64_t i) { return WinogradTile(tiles_, number + i); };
    const auto square = [&](std::int64_t i) {
      const WinogradTile tile = place(i);
      return PixelSquare<size, T>(x + tile.image * from[1] * from[2] * c_, from, tile.row - tiles_.padding,
                                  tile.column - tiles_.padding, tiles_.dilation);
    };
    const auto results = [&](std::int64_t i) {
      const WinogradTile tile = place(i);
      return PixelSquare<m, T>(dy + tile.image * to[1] * to[2] * k_, to, tile.row, tile.column, tiles_.dilation);
    };
    transform_squares<size>(
        square, count, c_, [](const auto& d, auto& v) { Transforms::input(d, v); },
        [&](std::int64_t c, const auto& transformed) {
          Element* into = data + c / chunk * chunk * set_elements() + at * width(c) + c % chunk;
          store_places<size, Products>(transformed, into, plane(c_));
        });
    transform_squares<m>(
        results, count, k_, [](const auto& d, auto& z) { Transforms::output_gradient(d, z); },
        [&](std::int64_t k, const auto& transformed) {
          store_places<size, Products>(transformed, gradients + at * k_ + k, plane(k_));
        });
  }

  /// Sums are [place][k][c], over `count` elements.
  template <typename ForAll>
  void multiply(const Element* data, const Element* gradients, float* sums, std::int64_t count, bool accumulate,
                ForAll&& for_all) const {
    const std::int64_t across = (c_ + chunk - 1) / chunk, down = (k_ + chunk_rows - 1) / chunk_rows;
    for_all(places * across * down, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t place = task / (across * down), c = task / down % across * chunk,
                           k = task % down * chunk_rows;
        const std::int64_t columns = width(c);
        small_gemm(SmallGemm<Element>{std::min(chunk_rows, k_ - k), columns, count, gradients + place * plane(k_) + k,
                                      1, k_, data + place * plane(c_) + c * set_elements(), columns,
                                      sums + (place * k_ + k) * c_ + c, c_, accumulate});
      }
    });
  }

  template <typename W>
  void transform_back(void* workspace, W* dw) const {
    parallel_for(k_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        for (std::int64_t c = 0; c < c_; c += lanes) {
          f32x16 transformed[size][size], taps[3][3];
          load_places(get_sums(workspace, 0) + k * c_ + c, k_ * c_, transformed);
          for (std::int64_t part = 1; part < parts_; ++part) {
            f32x16 others[size][size];
            load_places(get_sums(workspace, part) + k * c_ + c, k_ * c_, others);
            for (int i = 0; i < size; ++i) {
              for (int j = 0; j < size; ++j) transformed[i][j] += others[i][j];
            }
          }
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
  std::int64_t parts_;      // of the tiles, each with sums of its own
  std::int64_t set_tiles_;  // of a part, at a time
};

}  // namespace

std::vector<std::unique_ptr<Kernel>> winograd_grad_weight_candidates(const TensorDesc& x, const TensorDesc& dy,
                                                                     const TensorDesc& dw,
                                                                     const Conv2dAttributes& conv) {
  std::vector<std::unique_ptr<Kernel>> candidates;
  if (is_for_winograd(conv, x, dw, dy)) {
    candidates.push_back(std::make_unique<WinogradGradWeight<4, FloatProducts>>(x, dy, dw, conv));
    candidates.push_back(std::make_unique<WinogradGradWeight<2, FloatProducts>>(x, dy, dw, conv));
    visit_low_products(x.dtype, [&](auto products) {
      candidates.push_back(std::make_unique<WinogradGradWeight<2, decltype(products)>>(x, dy, dw, conv));
    });
  }
  return candidates;
}

}  // namespace ptrain::cpu
