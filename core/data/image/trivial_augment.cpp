#include "core/data/image/trivial_augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ptrain {
namespace {

using Pixels = std::span<std::uint8_t>;
using Curve = std::array<std::uint8_t, 256>;  // maps the values of a channel

constexpr double most_share = 0.99;
constexpr float most_shift = 32.0f, most_degrees = 135.0f;

std::uint8_t to_byte(float value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)); }

/// Source coordinates of a pixel: (x, y) = m * (column, row, 1), relative to the image's centre.
using Affine = std::array<double, 6>;

/// Takes every pixel from the nearest one of `source`, black outside of it.
void warp(Pixels pixels, ImageSize size, const Affine& m, std::vector<std::uint8_t>& source) {
  source.assign(pixels.begin(), pixels.end());
  const double centre_x = (size.width - 1) / 2.0, centre_y = (size.height - 1) / 2.0;
  std::uint8_t* to = pixels.data();
  for (int row = 0; row < size.height; ++row) {
    for (int column = 0; column < size.width; ++column, to += 3) {
      const double dx = column - centre_x, dy = row - centre_y;
      const auto x = static_cast<int>(std::nearbyint(m[0] * dx + m[1] * dy + m[2] + centre_x));
      const auto y = static_cast<int>(std::nearbyint(m[3] * dx + m[4] * dy + m[5] + centre_y));
      const bool inside = x >= 0 && x < size.width && y >= 0 && y < size.height;
      const auto from = static_cast<std::size_t>(inside ? (y * size.width + x) * 3 : 0);
      for (std::size_t c = 0; c < 3; ++c) to[c] = inside ? source[from + c] : std::uint8_t{0};
    }
  }
}

/// A shear keeps the upper left corner of the image in place.
Affine shear(AugmentOp change, double share, ImageSize size) {
  if (change == AugmentOp::shear_x) return {1, share, share * (size.height / 2.0), 0, 1, 0};
  return {1, 0, 0, share, 1, share * (size.width / 2.0)};
}

Affine rotation(double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  return {std::cos(angle), -std::sin(angle), 0, std::sin(angle), std::cos(angle), 0};
}

/// BT.601's luma, rounded.
std::uint8_t luminance(const std::uint8_t* pixel) {
  return static_cast<std::uint8_t>(0.2989f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2]);
}

std::uint8_t blend(std::uint8_t value, float other, double ratio) {
  return to_byte(static_cast<float>(ratio) * value + static_cast<float>(1 - ratio) * other);
}

void adjust_colour(Pixels pixels, double ratio) {
  for (std::size_t i = 0; i < pixels.size(); i += 3) {
    const std::uint8_t grey = luminance(&pixels[i]);
    for (std::size_t c = 0; c < 3; ++c) pixels[i + c] = blend(pixels[i + c], grey, ratio);
  }
}

void adjust_contrast(Pixels pixels, double ratio) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < pixels.size(); i += 3) sum += luminance(&pixels[i]);
  const auto mean = static_cast<float>(static_cast<double>(sum) / (static_cast<double>(pixels.size()) / 3));
  for (std::uint8_t& value : pixels) value = blend(value, mean, ratio);
}

/// Blends away from, or towards, a blur of the eight neighbours; the border is unchanged.
void adjust_sharpness(Pixels pixels, ImageSize size, double ratio, std::vector<std::uint8_t>& source) {
  source.assign(pixels.begin(), pixels.end());
  const auto line = static_cast<std::size_t>(size.width) * 3;
  for (int row = 1; row + 1 < size.height; ++row) {
    for (std::size_t at = static_cast<std::size_t>(row) * line + 3; at < (static_cast<std::size_t>(row) + 1) * line - 3;
         ++at) {
      int sum = 4 * source[at];
      for (const std::size_t from : {at - line, at, at + line})
        sum += source[from - 3] + source[from] + source[from + 3];
      pixels[at] = blend(source[at], std::nearbyint(static_cast<float>(sum) / 13.0f), ratio);
    }
  }
}

void apply(Pixels pixels, std::size_t channel, const Curve& curve) {
  for (std::size_t i = channel; i < pixels.size(); i += 3) pixels[i] = curve[pixels[i]];
}

Curve stretched(const std::array<std::int64_t, 256>& counts) {
  const auto occurs = [](std::int64_t count) { return count > 0; };
  const auto low = std::find_if(counts.begin(), counts.end(), occurs) - counts.begin();
  const auto high = 255 - (std::find_if(counts.rbegin(), counts.rend(), occurs) - counts.rbegin());
  Curve curve{};
  const float scale = 255.0f / static_cast<float>(high - low);
  for (std::size_t v = 0; v < 256; ++v) {
    curve[v] =
        low == high ? static_cast<std::uint8_t>(v) : to_byte((static_cast<float>(v) - static_cast<float>(low)) * scale);
  }
  return curve;
}

/// Equalises the histogram without splitting values.
Curve equalized(const std::array<std::int64_t, 256>& counts, std::int64_t pixels) {
  const auto brightest = std::find_if(counts.rbegin(), counts.rend(), [](std::int64_t count) { return count > 0; });
  const std::int64_t step = (pixels - *brightest) / 255;
  Curve curve{};
  std::int64_t below = 0;
  for (std::size_t v = 0; v < 256; ++v) {
    curve[v] = static_cast<std::uint8_t>(step == 0 ? static_cast<std::int64_t>(v)
                                                   : std::min<std::int64_t>(255, (below + step / 2) / step));
    below += counts[v];
  }
  return curve;
}

void spread_values(Pixels pixels, AugmentOp change) {
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::array<std::int64_t, 256> counts{};
    for (std::size_t i = channel; i < pixels.size(); i += 3) ++counts[pixels[i]];
    const auto each = static_cast<std::int64_t>(pixels.size() / 3);
    apply(pixels, channel, change == AugmentOp::equalize ? equalized(counts, each) : stretched(counts));
  }
}

}  // namespace

std::string_view to_string(AugmentOp change) {
  constexpr std::array<std::string_view, augment_ops> names = {
      "Identity", "ShearX",   "ShearY",    "TranslateX", "TranslateY", "Rotate",       "Brightness",
      "Color",    "Contrast", "Sharpness", "Posterize",  "Solarize",   "AutoContrast", "Equalize"};
  return names.at(static_cast<std::size_t>(change));
}

void apply_augment_op(std::span<std::uint8_t> pixels, ImageSize size, AugmentOp change, int amount, bool negative,
                      std::vector<std::uint8_t>& scratch) {
  const float part = static_cast<float>(amount) / (augment_magnitudes - 1);
  const float way = negative ? -part : part;
  const double ratio = 1 + most_share * way;
  switch (change) {
    case AugmentOp::identity:
      return;
    case AugmentOp::shear_x:
    case AugmentOp::shear_y:
      return warp(pixels, size, shear(change, most_share * way, size), scratch);
    case AugmentOp::translate_x:
      return warp(pixels, size, {1, 0, -std::trunc(most_shift * way), 0, 1, 0}, scratch);
    case AugmentOp::translate_y:
      return warp(pixels, size, {1, 0, 0, 0, 1, -std::trunc(most_shift * way)}, scratch);
    case AugmentOp::rotate:
      return warp(pixels, size, rotation(double{most_degrees} * way), scratch);
    case AugmentOp::brightness:
      for (std::uint8_t& value : pixels) value = blend(value, 0, ratio);
      return;
    case AugmentOp::colour:
      return adjust_colour(pixels, ratio);
    case AugmentOp::contrast:
      return adjust_contrast(pixels, ratio);
    case AugmentOp::sharpness:
      return adjust_sharpness(pixels, size, ratio, scratch);
    case AugmentOp::posterize: {
      const auto lost = static_cast<unsigned>(std::nearbyint(6 * part));  // bits
      for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(value >> lost << lost);
      return;
    }
    case AugmentOp::solarize:
      for (std::uint8_t& value : pixels) {
        if (static_cast<float>(value) >= 255.0f * (1 - part)) value = static_cast<std::uint8_t>(255 - value);
      }
      return;
    case AugmentOp::auto_contrast:
    case AugmentOp::equalize:
      return spread_values(pixels, change);
  }
}

void apply_trivial_augment(std::span<std::uint8_t> pixels, ImageSize size, SampleRandom random,
                           std::vector<std::uint8_t>& scratch) {
  const auto change = static_cast<AugmentOp>(random.below(augment_ops));
  const int amount = random.below(augment_magnitudes);
  apply_augment_op(pixels, size, change, amount, random.below(2) == 1, scratch);
}

}  // namespace ptrain
