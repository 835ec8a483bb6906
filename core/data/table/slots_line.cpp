#include "core/data/table/slots_line.h"

#include "core/base/hash.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ptrain {
namespace {

/// Blanks, tabs and other control characters are between fields.
bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }

std::string_view skip_blanks(std::string_view text) { return {std::ranges::find_if_not(text, is_blank), text.end()}; }

/// Takes the first field off `rest`; empty at its end.
std::string_view take_field(std::string_view& rest) {
  rest = skip_blanks(rest);
  const std::string_view field{rest.begin(), std::ranges::find_if(rest, is_blank)};
  rest.remove_prefix(field.size());
  return field;
}

bool is_key(std::string_view field) { return field.find(':') != std::string_view::npos; }

std::int32_t take_label(std::string_view& rest, const LinePlace& place) {
  const std::string_view label = take_field(rest);
  if (label == "1" || label == "+1") return 1;
  if (label == "0" || label == "-1") return 0;
  reject_line(place, "{}: expected 1 or +1 for a click, 0 or -1 for none, got {}",
              label.empty() || is_key(label) ? "has no label" : "label", show_field(label));
}

void take_numbers(std::string_view& rest, const LinePlace& place, std::span<float> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view field = take_field(rest);
    const char* const end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, numbers[i]);
    if (error != std::errc() || stop != end || !std::isfinite(numbers[i])) {
      reject_line(place, "number {} of {} (data.dense_features): expected a finite number, got {}", i + 1,
                  numbers.size(), show_field(field));
    }
  }
}

/// `begin` is the start of a field that is not "SLOT:KEY".
[[noreturn]] void reject_key(const char* begin, const char* end, const LinePlace& place, int slots) {
  std::string_view rest(begin, end);
  const std::string_view field = take_field(rest);
  if (!is_key(field)) reject_line(place, "expected SLOT:KEY, got {}", show_field(field));
  const std::string_view slot = field.substr(0, field.find(':'));
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(slot.begin(), slot.end(), number);
  if (error != std::errc() || stop != slot.end() || number < 1 || number > slots) {
    reject_line(place, "expected a slot from 1 to {} (data.slots) before the colon, got {}", slots, show_field(field));
  }
  reject_line(place, "slot {}: has no key after the colon", number);
}

/// The bags of one sample.
class Bags {
 public:
  Bags(const LinePlace& place, int size, const CategoryIds& ids)
      : place_(place), size_(static_cast<std::size_t>(size)), ids_(ids) {
    ids.clear();
  }

  /// `slot` is from 0.
  void add(std::size_t slot, std::uint64_t hash) {
    if (slot != slot_) {
      slot_ = slot;
      used_ = 0;
      while (used_ < size_ && !ids_.is_none(slot * size_ + used_)) ++used_;
    }
    if (used_ == size_) {
      reject_line(place_, "slot {}: has more than {} keys (data.bag_size)", slot + 1, size_);
    }
    ids_.set(slot * size_ + used_++, static_cast<int>(slot), hash);
  }

 private:
  const LinePlace& place_;
  std::size_t size_;
  const CategoryIds& ids_;
  std::size_t slot_ = static_cast<std::size_t>(-1);
  std::size_t used_ = 0;  // ids of `slot_`
};

/// Reads each character once.
void read_keys(std::string_view keys, const LinePlace& place, const DatasetInfo& data, const CategoryIds& ids) {
  constexpr std::ptrdiff_t most_digits = 5;
  const auto slots = static_cast<std::size_t>(data.categorical_features);
  Bags bags(place, data.bag_size, ids);
  const char* at = keys.data();
  const char* const end = at + keys.size();
  while (true) {
    while (at != end && is_blank(*at)) ++at;
    if (at == end) return;
    const char* const field = at;
    std::size_t slot = 0;
    while (at != end && *at >= '0' && *at <= '9' && at - field < most_digits) {
      slot = slot * 10 + static_cast<std::size_t>(*at++ - '0');
    }
    if (at == end || *at != ':' || slot - 1 >= slots) reject_key(field, end, place, data.categorical_features);
    const char* const key = ++at;
    std::uint64_t hash = fnv1a64({});
    while (at != end && !is_blank(*at)) hash = fnv1a64({at++, 1}, hash);
    if (at == key) reject_key(field, end, place, data.categorical_features);
    bags.add(slot - 1, hash);
  }
}

}  // namespace

std::int32_t parse_slots_line(std::string_view line, const LinePlace& place, const DatasetInfo& data,
                              std::span<float> numbers, const CategoryIds& ids) {
  const std::int32_t label = take_label(line, place);
  take_numbers(line, place, numbers);
  read_keys(line, place, data, ids);
  return label;
}

std::optional<std::int32_t> parse_slots_question(std::string_view line, const LinePlace& place, const DatasetInfo& data,
                                                 std::span<float> numbers, const CategoryIds& ids) {
  std::string_view rest = line;
  std::size_t before_keys = 0;
  for (std::string_view field = take_field(rest); !field.empty() && !is_key(field); field = take_field(rest)) {
    ++before_keys;
  }
  if (before_keys != numbers.size() || skip_blanks(line).empty()) {
    return parse_slots_line(line, place, data, numbers, ids);
  }
  take_numbers(line, place, numbers);
  read_keys(line, place, data, ids);
  return std::nullopt;
}

}  // namespace ptrain
