// Parses PaddleOCR's lists and ICDAR's files of boxes around text.
#include "core/data/boxes/text_boxes.h"
#include "core/io/atomic_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ptrain {
namespace {

using nlohmann::json;

/// Corners are in px of an image; what is farther outside is no corner.
constexpr double most_px = 1e6;

bool is_unreadable(std::string_view transcription) { return transcription == "###" || transcription == "*"; }

/// Calls `visit`(line, place) for each line that is not blank.
template <typename Visit>
void visit_lines(std::string_view text, const std::string& name, const Visit& visit) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) visit(line, number, fmt::format("{}:{}", name, number));
  }
}

/// Throws Error for text that is no JSON, and for lists in lists that nest deeper than those of boxes.
json parse_boxes_json(std::string_view text, const std::string& place) {
  constexpr int most_depth = 8;
  const auto keep = [&](int depth, json::parse_event_t, const json&) {
    if (depth > most_depth) fail("{}: is nested more than {} deep", place, most_depth);
    return true;
  };
  try {
    return json::parse(text, keep);
  } catch (const json::exception& error) {
    fail("{}: is no valid JSON after the tab: {}", place, error.what());
  }
}

std::string quote_json(const json& value) {
  return quoted_name(value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 60));
}

Point2d parse_corner(const json& corner, const std::string& place) {
  const bool is_corner = corner.is_array() && corner.size() == 2 && corner[0].is_number() && corner[1].is_number();
  const Point2d point = is_corner ? Point2d{corner[0].get<double>(), corner[1].get<double>()} : Point2d{};
  if (!is_corner || !(std::abs(point.x) <= most_px) || !(std::abs(point.y) <= most_px)) {
    fail("{}: points: expected corners [x, y] in px, got {}", place, quote_json(corner));
  }
  return point;
}

TextBox parse_text_box(const json& object, const std::string& place) {
  const auto transcription = object.find("transcription"), points = object.find("points");
  if (!object.is_object() || transcription == object.end() || !transcription->is_string() || points == object.end()) {
    fail("{}: expected {{\"transcription\": text, \"points\": four corners}}, got {}", place, quote_json(object));
  }
  TextBox box;
  if (!points->is_array() || points->size() != box.corners.size()) {
    fail("{}: points: expected four corners [x, y], got {}", place, quote_json(*points));
  }
  for (std::size_t i = 0; i < box.corners.size(); ++i) box.corners[i] = parse_corner((*points)[i], place);
  box.ignored = is_unreadable(transcription->get_ref<const std::string&>());
  return box;
}

/// Takes the number before the next comma from the front of `line`; false where there is none.
bool take_number(std::string_view& line, double& number) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end == line.data() + line.size() || *end != ',') return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return std::abs(number) <= most_px;
}

}  // namespace

std::vector<TextBoxImage> parse_text_box_list(std::string_view text, const std::string& name,
                                              const std::string& folder) {
  std::vector<TextBoxImage> images;
  visit_lines(text, name, [&](std::string_view line, std::int64_t number, const std::string& place) {
    const std::size_t tab = line.find('\t');
    if (tab == line.npos || tab == 0) {
      fail("{}: expected the path of an image, a tab and a list of its texts, got {}", place,
           quoted_name(line.substr(0, 60)));
    }
    const json boxes = parse_boxes_json(line.substr(tab + 1), place);
    if (!boxes.is_array()) fail("{}: expected a list [...] of texts after the tab, got {}", place, quote_json(boxes));
    TextBoxImage& image = images.emplace_back();
    image.file = folder + "/" + std::string(line.substr(0, tab));
    image.line = number;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      image.boxes.push_back(parse_text_box(boxes[i], fmt::format("{}: text {}", place, i + 1)));
    }
  });
  return images;
}

std::vector<TextBox> parse_icdar_boxes(std::string_view text, const std::string& name) {
  std::vector<TextBox> boxes;
  visit_lines(text, name, [&](std::string_view line, std::int64_t, const std::string& place) {
    TextBox& box = boxes.emplace_back();
    std::string_view rest = line;
    bool is_box = true;
    for (Point2d& corner : box.corners) {
      is_box = is_box && take_number(rest, corner.x) && take_number(rest, corner.y);
    }
    if (!is_box) {
      fail("{}: expected x1,y1,x2,y2,x3,y3,x4,y4,text with corners in px, got {}", place,
           quoted_name(line.substr(0, 60)));
    }
    box.ignored = is_unreadable(rest);
  });
  return boxes;
}

}  // namespace ptrain
