#include "core/data/boxes/rle.h"

#include "core/base/errors.h"
#include "core/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

namespace ptrain {
namespace {

constexpr int first_character = 48;  // of the digits of run lengths

std::int64_t whole_number(const nlohmann::json& value, std::string_view what, const std::string& where) {
  if (!value.is_number_integer() || value < 0 || value > most_pixels) {
    fail("{}: segmentation: expected {} of up to {} px, got {}", where, what, most_pixels,
         value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return value.get<std::int64_t>();
}

void require_run(std::int64_t count, const std::string& where) {
  if (count < 0 || count > static_cast<std::int64_t>(most_pixels)) {
    fail("{}: segmentation: counts: has a run of {} px", where, count);
  }
}

}  // namespace

std::int64_t RunLengths::area() const {
  std::int64_t area = 0;
  for (std::size_t i = 1; i < counts.size(); i += 2) area += counts[i];
  return area;
}

namespace {

/// Edges are sampled at this many points per pixel.
constexpr int fineness = 5;

struct Point {
  std::int64_t x, y;  // in samples
};

/// Calls visit(point) for the samples of an edge, one for each step along its longer side, in its direction. The way
/// between is computed from its lower end, as in pycocotools.
template <typename Visit>
void sample_edge(const Point& from, const Point& to, Visit&& visit) {
  const std::int64_t across = std::abs(to.x - from.x), down = std::abs(to.y - from.y);
  const bool is_wide = across >= down;
  const std::int64_t steps = is_wide ? across : down;
  if (steps == 0) return;
  const bool is_reversed = is_wide ? from.x > to.x : from.y > to.y;
  const Point &first = is_reversed ? to : from, &last = is_reversed ? from : to;
  const double slope = static_cast<double>(is_wide ? last.y - first.y : last.x - first.x) / static_cast<double>(steps);
  for (std::int64_t i = 0; i <= steps; ++i) {
    const std::int64_t step = is_reversed ? steps - i : i;
    const auto round = [&](std::int64_t start) {
      return static_cast<std::int64_t>(static_cast<double>(start) + slope * static_cast<double>(step) + 0.5);
    };
    visit(is_wide ? Point{first.x + step, round(first.y)} : Point{round(first.x), first.y + step});
  }
}

/// Runs between sorted pixels at which a mask changes; some of them may be equal.
RunLengths make_runs(std::vector<std::int64_t> changes, std::int64_t height, std::int64_t width) {
  std::sort(changes.begin(), changes.end());
  changes.push_back(height * width);
  RunLengths runs{height, width, {}};
  std::int64_t last = 0;
  bool joins = false;  // a run of nothing joins its neighbours
  for (const std::int64_t change : changes) {
    const std::int64_t count = change - last;
    last = change;
    if (joins) {
      runs.counts.back() += count;
      joins = false;
    } else if (count > 0 || runs.counts.empty()) {
      runs.counts.push_back(count);
    } else {
      joins = true;
    }
  }
  return runs;
}

RunLengths rasterize_one(const Polygon& polygon, std::int64_t height, std::int64_t width) {
  std::vector<Point> corners;
  for (std::size_t i = 0; i + 1 < polygon.size(); i += 2) {
    const auto scale = [](double value) { return static_cast<std::int64_t>(fineness * value + 0.5); };
    corners.push_back({scale(polygon[i]), scale(polygon[i + 1])});
  }
  // Where samples cross the middle of a column, the mask changes below.
  std::vector<std::int64_t> changes;
  std::optional<Point> last;
  const auto cross = [&](const Point& next) {
    const Point one = std::exchange(last, next).value_or(next);
    if (one.x == next.x) return;
    const auto centre = [](std::int64_t sample) { return (static_cast<double>(sample) + 0.5) / fineness - 0.5; };
    const double x = centre(next.x < one.x ? next.x : next.x - 1), y = centre(std::min(next.y, one.y));
    if (std::floor(x) != x || x < 0 || x > static_cast<double>(width - 1)) return;
    const double row = std::ceil(std::clamp(y, 0.0, static_cast<double>(height)));
    changes.push_back(static_cast<std::int64_t>(x) * height + static_cast<std::int64_t>(row));
  };
  for (std::size_t i = 0; i < corners.size(); ++i) sample_edge(corners[i], corners[(i + 1) % corners.size()], cross);
  return make_runs(std::move(changes), height, width);
}

/// Calls visit(length, value of one, value of the other) for the stretches of two masks of one size.
template <typename Visit>
void visit_stretches(const RunLengths& one, const RunLengths& other, Visit&& visit) {
  std::size_t i = 0, k = 0;
  std::int64_t of_one = one.counts.empty() ? 0 : one.counts[0], of_other = other.counts.empty() ? 0 : other.counts[0];
  while (i < one.counts.size() && k < other.counts.size()) {
    const std::int64_t length = std::min(of_one, of_other);
    if (length > 0) visit(length, i % 2 == 1, k % 2 == 1);
    of_one -= length;
    of_other -= length;
    if (of_one == 0 && ++i < one.counts.size()) of_one = one.counts[i];
    if (of_other == 0 && ++k < other.counts.size()) of_other = other.counts[k];
  }
}

RunLengths unite(const RunLengths& one, const RunLengths& other) {
  RunLengths runs{one.height, one.width, {0}};
  visit_stretches(one, other, [&](std::int64_t length, bool of_one, bool of_other) {
    const bool value = of_one || of_other;
    if ((runs.counts.size() % 2 == 0) != value) runs.counts.push_back(0);
    runs.counts.back() += length;
  });
  return runs;
}

}  // namespace

RunLengths rasterize(std::span<const Polygon> polygons, std::int64_t height, std::int64_t width) {
  RunLengths runs{height, width, {height * width}};
  for (std::size_t i = 0; i < polygons.size(); ++i) {
    const RunLengths one = rasterize_one(polygons[i], height, width);
    runs = i == 0 ? one : unite(runs, one);
  }
  return runs;
}

RunLengths encode_mask(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width) {
  RunLengths runs{height, width, {0}};
  bool value = false;
  for (std::int64_t x = 0; x < width; ++x) {
    for (std::int64_t y = 0; y < height; ++y) {
      const bool next = pixels[static_cast<std::size_t>(y * width + x)] != 0;
      if (next != value) runs.counts.push_back(0);
      value = next;
      ++runs.counts.back();
    }
  }
  return runs;
}

MaskOverlap measure_overlap(const RunLengths& one, const RunLengths& other) {
  MaskOverlap overlap;
  visit_stretches(one, other, [&](std::int64_t length, bool of_one, bool of_other) {
    if (of_one && of_other) overlap.intersection += length;
    if (of_one || of_other) overlap.union_of_both += length;
  });
  return overlap;
}

std::string format_run_lengths(std::span<const std::int64_t> counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t value = i > 2 ? counts[i] - counts[i - 2] : counts[i];
    bool more = true;
    while (more) {
      std::int64_t bits = value & 0x1f;
      value >>= 5;
      more = (bits & 0x10) != 0 ? value != -1 : value != 0;
      if (more) bits |= 0x20;
      text.push_back(static_cast<char>(bits + first_character));
    }
  }
  return text;
}

nlohmann::ordered_json to_coco(const RunLengths& mask) {
  return {{"size", {mask.height, mask.width}}, {"counts", format_run_lengths(mask.counts)}};
}

std::size_t count_run_lengths(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char digit) { return ((digit - first_character) & 0x20) == 0; }));
}

std::vector<std::int64_t> parse_run_lengths(std::string_view text, const std::string& where) {
  constexpr int most_digits = 7;
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t value = 0;
    bool more = true;
    for (int digit = 0; more; ++digit) {
      const int bits = at < text.size() ? static_cast<unsigned char>(text[at]) - first_character : -1;
      if (bits < 0 || bits > 63 || digit == most_digits) {
        fail("{}: segmentation: counts: character {} is none of a run length", where, at + 1);
      }
      value |= std::int64_t{bits & 0x1f} << 5 * digit;
      more = (bits & 0x20) != 0;
      if (!more && (bits & 0x10) != 0) value -= std::int64_t{1} << 5 * (digit + 1);  // sign
      ++at;
    }
    if (counts.size() > 2) value += counts[counts.size() - 2];  // from the third on, they are differences
    require_run(value, where);
    counts.push_back(value);
  }
  return counts;
}

RunLengths parse_rle(const nlohmann::json& value, const std::string& where) {
  const auto size = value.find("size"), counts = value.find("counts");
  if (size == value.end() || !size->is_array() || size->size() != 2 || counts == value.end()) {
    fail("{}: segmentation: expected \"size\": [height, width] and \"counts\"", where);
  }
  RunLengths runs{whole_number((*size)[0], "a height", where), whole_number((*size)[1], "a width", where), {}};
  if (counts->is_string()) {
    runs.counts = parse_run_lengths(counts->get_ref<const std::string&>(), where);
  } else if (counts->is_array()) {
    for (const nlohmann::json& one : *counts) runs.counts.push_back(whole_number(one, "run lengths", where));
  } else {
    fail("{}: segmentation: counts: expected a list or text", where);
  }
  std::int64_t pixels = 0;
  for (const std::int64_t count : runs.counts) pixels += count;
  if (pixels != runs.height * runs.width) {
    fail("{}: segmentation: its runs have {} px, its size {}x{} has {}", where, pixels, runs.height, runs.width,
         runs.height * runs.width);
  }
  return runs;
}

}  // namespace ptrain
