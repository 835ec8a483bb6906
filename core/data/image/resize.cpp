// Each output row is one vertical pass into a row of floats (vectorised over the row) and one horizontal pass over it
// (vectorised over the channels), so there is no intermediate image.
#include "core/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

using Float4 = float __attribute__((vector_size(16)));

struct Taps {
  int begin = 0;
  int count = 0;
};

struct Filter {
  double scale;
  double support;
  explicit Filter(const ResizeAxis& axis)
      : scale(static_cast<double>(axis.in) / axis.out), support(std::max(scale, 1.0)) {}
  Taps taps(const ResizeAxis& axis, int output) const {
    const double center = (output + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(center - support + 0.5));
    const int end = std::min(axis.in, static_cast<int>(center + support + 0.5));
    return {begin, end - begin};
  }
  /// Fills `weights` (taps.count of them, sum 1).
  void weights(int output, Taps taps, float* weights) const {
    const double center = (output + 0.5) * scale;
    double total = 0;
    for (int i = 0; i < taps.count; ++i) {
      const double distance = std::abs((i + taps.begin - center + 0.5) / support);
      const double weight = std::max(0.0, 1.0 - distance);
      weights[i] = static_cast<float>(weight);
      total += weight;
    }
    const float inverse = static_cast<float>(1.0 / total);
    for (int i = 0; i < taps.count; ++i) weights[i] *= inverse;
  }
  int most_taps() const { return static_cast<int>(std::ceil(support)) * 2 + 1; }
};

void copy_rows(const ImageView& source, const ResizeAxis& horizontal, const ResizeAxis& vertical, std::uint8_t* out) {
  const std::size_t bytes = static_cast<std::size_t>(horizontal.count) * 3;
  for (int y = 0; y < vertical.count; ++y) {
    const std::ptrdiff_t row = vertical.begin + y - source.y;
    std::memcpy(out + bytes * static_cast<std::size_t>(y),
                source.pixels + row * static_cast<std::ptrdiff_t>(source.stride) + 3 * (horizontal.begin - source.x),
                bytes);
  }
}

void accumulate_row(const std::uint8_t* __restrict pixels, float weight, std::int64_t count, float* __restrict row) {
  for (std::int64_t i = 0; i < count; ++i) row[i] += weight * static_cast<float>(pixels[i]);
}

void start_row(const std::uint8_t* __restrict pixels, float weight, std::int64_t count, float* __restrict row) {
  for (std::int64_t i = 0; i < count; ++i) row[i] = weight * static_cast<float>(pixels[i]);
}

}  // namespace

PixelRange pixel_range(const ResizeAxis& axis) {
  const Filter filter(axis);
  const Taps first = filter.taps(axis, axis.begin);
  const Taps last = filter.taps(axis, axis.begin + axis.count - 1);
  return {first.begin, last.begin + last.count};
}

void require_readable_size(std::uint64_t width, std::uint64_t height, const std::string& name) {
  if (width == 0 || height <= most_pixels / width) return;
  throw BadSample(fmt::format("{}: has {} x {} pixels; images of more than {} million are not read, make it smaller",
                              name, width, height, most_pixels / 1'000'000));
}

void resize_bilinear(const ImageView& source, const ResizeAxis& horizontal, const ResizeAxis& vertical, Mirror mirror,
                     Scratch& scratch, std::uint8_t* out) {
  if (horizontal.in == horizontal.out && vertical.in == vertical.out && mirror == Mirror::no) {
    copy_rows(source, horizontal, vertical, out);
    return;
  }
  const Filter across(horizontal);
  const Filter down(vertical);
  const auto most_across = static_cast<std::size_t>(across.most_taps());
  const auto width = static_cast<std::size_t>(horizontal.count);

  // Horizontal weights are computed once for all rows; the vertical ones of the current row follow them.
  scratch.weights.resize(width * most_across + static_cast<std::size_t>(down.most_taps()));
  scratch.bounds.resize(width * 2);
  for (std::size_t x = 0; x < width; ++x) {
    const int output = horizontal.begin + static_cast<int>(x);
    const Taps taps = across.taps(horizontal, output);
    scratch.bounds[2 * x] = taps.begin;
    scratch.bounds[2 * x + 1] = taps.count;
    across.weights(output, taps, scratch.weights.data() + x * most_across);
  }
  float* const down_weights = scratch.weights.data() + width * most_across;

  const PixelRange columns = pixel_range(horizontal);
  const std::int64_t row_values = std::int64_t{3} * (columns.end - columns.begin);
  scratch.row.resize(static_cast<std::size_t>(row_values) + 1);  // the last pixel is read as four floats
  scratch.row.back() = 0;
  float* const row = scratch.row.data();

  for (int y = 0; y < vertical.count; ++y) {
    const Taps taps = down.taps(vertical, vertical.begin + y);
    down.weights(vertical.begin + y, taps, down_weights);
    const std::uint8_t* pixels = source.pixels + static_cast<std::ptrdiff_t>(source.stride) * (taps.begin - source.y) +
                                 std::ptrdiff_t{3} * (columns.begin - source.x);
    start_row(pixels, down_weights[0], row_values, row);
    for (int k = 1; k < taps.count; ++k) {
      accumulate_row(pixels + static_cast<std::ptrdiff_t>(source.stride) * k, down_weights[k], row_values, row);
    }
    std::uint8_t* const out_row = out + width * 3 * static_cast<std::size_t>(y);
    for (std::size_t x = 0; x < width; ++x) {
      const float* values = row + std::ptrdiff_t{3} * (scratch.bounds[2 * x] - columns.begin);
      const float* weights = scratch.weights.data() + x * most_across;
      Float4 sum{0.5f, 0.5f, 0.5f, 0.5f};
      for (int k = 0; k < scratch.bounds[2 * x + 1]; ++k) {
        Float4 pixel;
        std::memcpy(&pixel, values + 3 * k, sizeof pixel);
        sum += pixel * weights[k];
      }
      std::uint8_t* target = out_row + 3 * (mirror == Mirror::no ? x : width - 1 - x);
      for (int c = 0; c < 3; ++c) target[c] = static_cast<std::uint8_t>(std::min(sum[c], 255.0f));
    }
  }
}

}  // namespace ptrain
