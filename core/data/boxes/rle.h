// Run-length encoded masks in COCO's form: runs of 0 and 1 in turn, column by column, beginning with 0.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct RunLengths {
  std::int64_t height = 0, width = 0;
  std::vector<std::int64_t> counts;

  /// Pixels of 1.
  std::int64_t area() const;
  bool operator==(const RunLengths&) const = default;
};

/// x and y of the corners in turn, in px: the centre of the first pixel is at 0.5.
using Polygon = std::vector<double>;

/// The pixels within any of the polygons, as pycocotools finds them: from edges sampled at a fifth of a pixel. Parts
/// outside the image are left out.
RunLengths rasterize(std::span<const Polygon> polygons, std::int64_t height, std::int64_t width);

/// The runs of a mask of 0 and others, row by row [height, width].
RunLengths encode_mask(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width);

/// The pixels of two masks of one size together: those of both, and those of any.
struct MaskOverlap {
  std::int64_t intersection = 0, union_of_both = 0;
};
MaskOverlap measure_overlap(const RunLengths& one, const RunLengths& other);

/// Counts as text, which parse_run_lengths() reads.
std::string format_run_lengths(std::span<const std::int64_t> counts);

/// The number of counts in such text.
std::size_t count_run_lengths(std::string_view text);

/// Parses counts in text: six bits a character, as pycocotools writes them. Throws Error{failed} beginning with
/// `where`.
std::vector<std::int64_t> parse_run_lengths(std::string_view text, const std::string& where);

/// {"size": [height, width], "counts": text}.
nlohmann::ordered_json to_coco(const RunLengths& mask);

/// Parses {"size": [height, width], "counts": list or text}. Throws Error{failed} beginning with `where` unless the
/// runs fill that size.
RunLengths parse_rle(const nlohmann::json& value, const std::string& where);

}  // namespace ptrain
