#include "core/data/table/criteo_line.h"

#include "core/base/errors.h"
#include "core/base/hash.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace ptrain {
namespace {

constexpr int features = criteo_dense_features + criteo_categorical_features;

/// PaddleRec's cont_min and cont_diff.
constexpr std::array<float, criteo_dense_features> smallest{0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::array<float, criteo_dense_features> ranges{20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50};

/// Iterates over a line's fields.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  std::string_view next() {
    return next([](char) {});
  }

  /// Calls `take` for each character of the field.
  template <typename Take>
  std::string_view next(Take take) {
    const char* const begin = at_;
    while (at_ != end_ && *at_ != '\t') take(*at_++);
    const std::string_view field(begin, static_cast<std::size_t>(at_ - begin));
    if (at_ != end_) ++at_;
    return field;
  }

 private:
  const char* at_;
  const char* end_;
};

float scaled_number(std::string_view field, int index, const LinePlace& place) {
  if (field.empty()) return 0.0f;
  std::int64_t value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stop != end) {
    reject_line(place, "integer feature {}: expected a whole number or nothing, got {}", index + 1, show_field(field));
  }
  const auto at = static_cast<std::size_t>(index);
  return (static_cast<float>(value) - smallest[at]) / ranges[at];
}

/// Of each character its lower-case form where it is a hexadecimal digit, else 0.
constexpr std::array<char, 256> lower_digits = [] {
  std::array<char, 256> digits{};
  for (const char c : std::string_view("0123456789abcdef")) digits[static_cast<unsigned char>(c)] = c;
  for (const char c : std::string_view("abcdef")) digits[static_cast<unsigned char>(c - 'a' + 'A')] = c;
  return digits;
}();

/// fnv1a64() of a word's digits in lower case.
struct WordHash {
  std::uint64_t value = fnv1a64({});
  bool has_digits_alone = true;

  void add(char c) {
    const char digit = lower_digits[static_cast<unsigned char>(c)];
    has_digits_alone = has_digits_alone && digit != 0;
    value = fnv1a64({&digit, 1}, value);
  }
};

std::ptrdiff_t count_fields(std::string_view line) { return 1 + std::count(line.begin(), line.end(), '\t'); }

void read_features(Fields& rest, const LinePlace& place, std::int64_t hash_buckets, std::span<float> numbers,
                   std::span<std::int32_t> ids) {
  constexpr std::size_t longest_word = 16;
  for (int i = 0; i < criteo_dense_features; ++i) {
    numbers[static_cast<std::size_t>(i)] = scaled_number(rest.next(), i, place);
  }
  for (int i = 0; i < criteo_categorical_features; ++i) {
    WordHash hash;
    const std::string_view word = rest.next([&](char c) { hash.add(c); });
    if (word.size() > longest_word || !hash.has_digits_alone) {
      reject_line(place, "categorical feature {}: expected up to {} hexadecimal digits or nothing, got {}", i + 1,
                  longest_word, show_field(word));
    }
    ids[static_cast<std::size_t>(i)] = find_row(i, hash.value, hash_buckets);
  }
}

}  // namespace

std::int32_t find_row(int feature, std::uint64_t hash, std::int64_t hash_buckets) {
  const std::uint64_t mixed = mixed64(hash + static_cast<std::uint64_t>(feature) * 0x9E3779B97F4A7C15u);
  return static_cast<std::int32_t>(mixed % static_cast<std::uint64_t>(hash_buckets));
}

std::int32_t category_id(int feature, std::string_view word, std::int64_t hash_buckets) {
  WordHash hash;
  for (const char c : word) hash.add(c);
  invariant(hash.has_digits_alone, "the word of a category has another character than hexadecimal digits");
  return find_row(feature, hash.value, hash_buckets);
}

std::int32_t parse_criteo_line(std::string_view line, const LinePlace& place, std::int64_t hash_buckets,
                               std::span<float> numbers, std::span<std::int32_t> ids) {
  if (const auto found = count_fields(line); found != 1 + features) {
    reject_line(place, "expected {} fields between tabs (a label, {} integers, {} hexadecimal words), got {}",
                1 + features, criteo_dense_features, criteo_categorical_features, found);
  }
  Fields rest(line);
  const std::string_view label = rest.next();
  if (label != "0" && label != "1") reject_line(place, "label: expected 0 or 1, got {}", show_field(label));
  read_features(rest, place, hash_buckets, numbers, ids);
  return label == "1" ? 1 : 0;
}

std::optional<std::int32_t> parse_criteo_question(std::string_view line, const LinePlace& place,
                                                  std::int64_t hash_buckets, std::span<float> numbers,
                                                  std::span<std::int32_t> ids) {
  if (count_fields(line) != features) return parse_criteo_line(line, place, hash_buckets, numbers, ids);
  Fields rest(line);
  read_features(rest, place, hash_buckets, numbers, ids);
  return std::nullopt;
}

}  // namespace ptrain
