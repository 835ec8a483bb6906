#include "core/config/image_size.h"

#include <nlohmann/json.hpp>

#include <charconv>

namespace ptrain {
namespace {

using nlohmann::json;

constexpr std::int64_t largest_side = 1 << 20;  // px; its square is far from overflowing

std::optional<std::int64_t> parse_side(std::string_view text) {
  std::int64_t side = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || text.front() == '0' || side < 1 || side > largest_side) return std::nullopt;
  return side;
}

std::optional<std::int64_t> parse_side(const json& value) {
  if (!value.is_number()) return std::nullopt;
  const double side = value;
  if (!(side >= 0 && side <= static_cast<double>(largest_side))) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(side);
  if (static_cast<double>(whole) != side) return std::nullopt;
  return whole;
}

}  // namespace

std::string to_text(ImageSize size) {
  return size.is_square() ? std::to_string(size.height) : fmt::format("{}x{}", size.height, size.width);
}

std::optional<ImageSize> parse_image_size(std::string_view text) {
  const std::size_t cross = text.find('x');
  const auto height = parse_side(text.substr(0, cross));
  const auto width = cross == std::string_view::npos ? height : parse_side(text.substr(cross + 1));
  if (!height || !width) return std::nullopt;
  return ImageSize(*height, *width);
}

json to_json(ImageSize size) {
  if (size.is_square()) return size.height;
  return to_text(size);
}

std::optional<ImageSize> image_size_from_json(const json& value) {
  if (value.is_string()) return parse_image_size(value.get<std::string>());
  const bool pair = value.is_array() && value.size() == 2;
  const auto height = parse_side(pair ? value[0] : value), width = parse_side(pair ? value[1] : value);
  if (!height || !width) return std::nullopt;
  return ImageSize(*height, *width);
}

json list_to_json(const std::vector<ImageSize>& sizes) {
  json list = json::array();
  for (const ImageSize size : sizes)
    list.push_back(size.is_square() ? json(static_cast<double>(size.height)) : json(to_text(size)));
  return list;
}

std::vector<ImageSize> image_sizes_from_json(const json& list) {
  std::vector<ImageSize> sizes;
  for (const json& item : list) sizes.push_back(image_size_from_json(item).value());
  return sizes;
}

}  // namespace ptrain
