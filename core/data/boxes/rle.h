// Run-length encoded masks in COCO's form: runs of 0 and 1 in turn, column by column, beginning with 0.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct RunLengths {
  std::int64_t height = 0, width = 0;
  std::vector<std::int64_t> counts;

  /// Pixels of 1.
  std::int64_t area() const;
};

/// Parses counts in text: six bits a character, as pycocotools writes them. Throws Error{failed} beginning with
/// `where`.
std::vector<std::int64_t> parse_run_lengths(std::string_view text, const std::string& where);

/// Parses {"size": [height, width], "counts": list or text}. Throws Error{failed} beginning with `where` unless the
/// runs fill that size.
RunLengths parse_rle(const nlohmann::json& value, const std::string& where);

}  // namespace ptrain
