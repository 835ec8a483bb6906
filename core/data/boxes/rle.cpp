#include "core/data/boxes/rle.h"

#include "core/base/errors.h"
#include "core/data/image/resize.h"

namespace ptrain {
namespace {

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

std::vector<std::int64_t> parse_run_lengths(std::string_view text, const std::string& where) {
  constexpr int first_character = 48, most_digits = 7;
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
