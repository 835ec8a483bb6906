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

/// In px. A number stands for a square of that side; without one, no size is said.
struct ImageSize {
  int height = 0, width = 0;

  ImageSize() = default;
  ImageSize(std::int64_t side) : ImageSize(side, side) {}
  ImageSize(std::int64_t rows, std::int64_t columns)
      : height(static_cast<int>(rows)), width(static_cast<int>(columns)) {}

  bool is_given() const { return height > 0 && width > 0; }
  bool is_square() const { return height == width; }
  /// Whether it has no more pixels than 64 x 64, the size up to which networks and augmentation are for small images.
  bool is_small() const { return pixels() <= std::int64_t{64} * 64; }
  std::int64_t pixels() const { return std::int64_t{height} * width; }
  int shorter_side() const { return height < width ? height : width; }
  /// This size, or `other` where none is said.
  ImageSize value_or(ImageSize other) const { return is_given() ? *this : other; }

  bool operator==(const ImageSize&) const = default;
};

/// "224", or HEIGHTxWIDTH where it is no square: "192x256".
std::string to_text(ImageSize size);
/// What to_text() gives, squares as "64x64" too; none of what is no size.
std::optional<ImageSize> parse_image_size(std::string_view text);

/// The side of a square, else to_text().
nlohmann::json to_json(ImageSize size);
/// From a side, a text or a list of height and width; none of what is no size.
std::optional<ImageSize> image_size_from_json(const nlohmann::json& value);
/// The same of lists; sides are numbers with a decimal point there, as lists of numbers have them.
nlohmann::json list_to_json(const std::vector<ImageSize>& sizes);
/// Every item is a size.
std::vector<ImageSize> image_sizes_from_json(const nlohmann::json& list);

}  // namespace ptrain

/// As to_text().
template <>
struct fmt::formatter<ptrain::ImageSize> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(ptrain::ImageSize size, Context& context) const {
    return fmt::formatter<std::string>::format(ptrain::to_text(size), context);
  }
};
