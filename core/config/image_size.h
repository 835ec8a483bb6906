// Height and width of images.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// In px. A single number is the side of a square; default-constructed: not given.
struct ImageSize {
  int height = 0, width = 0;

  ImageSize() = default;
  ImageSize(std::int64_t side) : ImageSize(side, side) {}
  ImageSize(std::int64_t rows, std::int64_t columns)
      : height(static_cast<int>(rows)), width(static_cast<int>(columns)) {}

  bool is_given() const { return height > 0 && width > 0; }
  bool is_square() const { return height == width; }
  /// Whether it has at most 64 x 64 pixels, the limit for small-image networks and augmentation.
  bool is_small() const { return pixels() <= std::int64_t{64} * 64; }
  std::int64_t pixels() const { return std::int64_t{height} * width; }
  int shorter_side() const { return height < width ? height : width; }
  /// This size, or `other` if not given.
  ImageSize value_or(ImageSize other) const { return is_given() ? *this : other; }

  bool operator==(const ImageSize&) const = default;
};

/// "224", or HEIGHTxWIDTH unless square: "192x256".
std::string to_text(ImageSize size);
/// Parses the form of to_text(), and squares as "64x64"; nothing for other texts.
std::optional<ImageSize> parse_image_size(std::string_view text);

/// The side of a square, else to_text().
nlohmann::json to_json(ImageSize size);
/// Parses a side, a text or a list of height and width; nothing for other values.
std::optional<ImageSize> image_size_from_json(const nlohmann::json& value);
/// Converts a list; sides are numbers with a decimal point, as in lists of numbers.
nlohmann::json list_to_json(const std::vector<ImageSize>& sizes);
/// Parses a list; every item must be a size.
std::vector<ImageSize> image_sizes_from_json(const nlohmann::json& list);

}  // namespace ptrain

/// Formats as to_text().
template <>
struct fmt::formatter<ptrain::ImageSize> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(ptrain::ImageSize size, Context& context) const {
    return fmt::formatter<std::string>::format(ptrain::to_text(size), context);
  }
};
