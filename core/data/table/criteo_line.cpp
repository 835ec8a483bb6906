#include "core/data/table/criteo_line.h"

#include "core/base/errors.h"
#include "core/base/hash.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>

namespace ptrain {
namespace {

constexpr int features = criteo_dense_features + criteo_categorical_features;
constexpr std::ptrdiff_t longest_word = 16;

/// PaddleRec's cont_min and cont_diff.
constexpr std::array<float, criteo_dense_features> smallest{0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::array<float, criteo_dense_features> ranges{20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50};

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

constexpr std::uint64_t in_all_bytes(std::uint64_t byte) { return byte * 0x0101010101010101u; }

/// A word of eight characters, as most of Criteo's are, all looked at together.
class EightCharacters {
 public:
  static constexpr std::ptrdiff_t size = 8;
  explicit EightCharacters(const char* begin) { std::memcpy(&bytes_, begin, sizeof bytes_); }

  bool are_hexadecimal_digits() const {
    const std::uint64_t lower = lower_case();
    const std::uint64_t digits = is_at_least(bytes_, '0') & ~is_at_least(bytes_, '9' + 1);
    const std::uint64_t letters = is_at_least(lower, 'a') & ~is_at_least(lower, 'f' + 1);
    return ((digits | letters) & ~bytes_ & high_bits) == high_bits;
  }
  /// WordHash's value, of digits.
  std::uint64_t hash() const {
    const std::uint64_t lower = lower_case();
    std::array<char, size> characters;
    std::memcpy(characters.data(), &lower, sizeof lower);
    return fnv1a64({characters.data(), characters.size()});
  }

 private:
  static constexpr std::uint64_t high_bits = in_all_bytes(0x80);

  /// Of digits and letters.
  std::uint64_t lower_case() const { return bytes_ | in_all_bytes('a' - 'A'); }
  /// In each byte's high bit whether the byte's other bits are at least `least`.
  static std::uint64_t is_at_least(std::uint64_t bytes, std::uint64_t least) {
    return (bytes & ~high_bits) + in_all_bytes(0x80 - least);
  }

  std::uint64_t bytes_;
};

/// A line's fields, one after the other. None is taken where it is not of the kind asked for.
class Fields {
 public:
  explicit Fields(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  std::string_view next() const { return {at_, std::find(at_, end_, '\t')}; }

  /// 0 or 1.
  std::optional<std::int32_t> take_label() {
    const std::string_view label = next();
    if (label != "0" && label != "1") return std::nullopt;
    pass(label.end());
    return label == "1" ? 1 : 0;
  }

  /// A whole number; 0 of an empty field.
  std::optional<float> take_number(std::size_t feature) {
    if (ends_at(at_)) {
      pass(at_);
      return 0.0f;
    }
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || !ends_at(stop)) return std::nullopt;
    pass(stop);
    return (static_cast<float>(value) - smallest[feature]) / ranges[feature];
  }

  /// The hash of a word of up to `longest_word` digits.
  std::optional<std::uint64_t> take_word() {
    if (end_ - at_ >= EightCharacters::size && ends_at(at_ + EightCharacters::size)) {
      const EightCharacters word(at_);
      if (word.are_hexadecimal_digits()) {
        pass(at_ + EightCharacters::size);
        return word.hash();
      }
    }
    WordHash hash;
    const char* stop = at_;
    while (!ends_at(stop)) hash.add(*stop++);
    if (!hash.has_digits_alone || stop - at_ > longest_word) return std::nullopt;
    pass(stop);
    return hash.value;
  }

 private:
  bool ends_at(const char* at) const { return at == end_ || *at == '\t'; }
  /// Goes on behind a field that ends there.
  void pass(const char* end) { at_ = end == end_ ? end : end + 1; }

  const char* at_;
  const char* end_;
};

std::ptrdiff_t count_fields(std::string_view line) { return 1 + std::count(line.begin(), line.end(), '\t'); }

void read_features(Fields& rest, const LinePlace& place, std::span<float> numbers, const CategoryIds& ids) {
  for (std::size_t i = 0; i < criteo_dense_features; ++i) {
    const auto number = rest.take_number(i);
    if (!number) {
      reject_line(place, "integer feature {}: expected a whole number or nothing, got {}", i + 1,
                  show_field(rest.next()));
    }
    numbers[i] = *number;
  }
  for (std::size_t i = 0; i < criteo_categorical_features; ++i) {
    const auto hash = rest.take_word();
    if (!hash) {
      reject_line(place, "categorical feature {}: expected up to {} hexadecimal digits or nothing, got {}", i + 1,
                  longest_word, show_field(rest.next()));
    }
    ids.set(i, static_cast<int>(i), *hash);
  }
}

std::uint64_t mix(int feature, std::uint64_t hash) {
  return mixed64(hash + static_cast<std::uint64_t>(feature) * 0x9E3779B97F4A7C15u);
}

}  // namespace

CategoryIds::CategoryIds(std::span<std::int32_t> rows, std::int64_t hash_buckets)
    : rows_(rows),
      hash_buckets_(static_cast<std::uint64_t>(hash_buckets)),
      reciprocal_(std::numeric_limits<std::uint64_t>::max() / hash_buckets_) {}

void CategoryIds::set(std::size_t at, int feature, std::uint64_t hash) const {
  if (!keys_.empty()) {
    keys_[at] = find_key(feature, hash);
    return;
  }
  // The remainder that find_row() divides for: the product is the quotient, or one less.
  __extension__ using Product = unsigned __int128;
  const std::uint64_t mixed = mix(feature, hash);
  const auto quotient = static_cast<std::uint64_t>(Product{mixed} * reciprocal_ >> 64);
  const std::uint64_t rest = mixed - quotient * hash_buckets_;
  rows_[at] = static_cast<std::int32_t>(rest < hash_buckets_ ? rest : rest - hash_buckets_);
}

void CategoryIds::clear() const {
  std::ranges::fill(rows_, -1);
  std::ranges::fill(keys_, -1);
}

std::int32_t find_row(int feature, std::uint64_t hash, std::int64_t hash_buckets) {
  return static_cast<std::int32_t>(mix(feature, hash) % static_cast<std::uint64_t>(hash_buckets));
}

std::int64_t find_key(int feature, std::uint64_t hash) {
  const auto key = static_cast<std::int64_t>(mix(feature, hash));
  return key == -1 ? 0 : key;
}

std::int32_t category_id(int feature, std::string_view word, std::int64_t hash_buckets) {
  WordHash hash;
  for (const char c : word) hash.add(c);
  invariant(hash.has_digits_alone, "the word of a category has another character than hexadecimal digits");
  return find_row(feature, hash.value, hash_buckets);
}

std::int32_t parse_criteo_line(std::string_view line, const LinePlace& place, std::span<float> numbers,
                               const CategoryIds& ids) {
  if (const auto found = count_fields(line); found != 1 + features) {
    reject_line(place, "expected {} fields between tabs (a label, {} integers, {} hexadecimal words), got {}",
                1 + features, criteo_dense_features, criteo_categorical_features, found);
  }
  Fields rest(line);
  const auto label = rest.take_label();
  if (!label) reject_line(place, "label: expected 0 or 1, got {}", show_field(rest.next()));
  read_features(rest, place, numbers, ids);
  return *label;
}

std::optional<std::int32_t> parse_criteo_question(std::string_view line, const LinePlace& place,
                                                  std::span<float> numbers, const CategoryIds& ids) {
  if (count_fields(line) != features) return parse_criteo_line(line, place, numbers, ids);
  Fields rest(line);
  read_features(rest, place, numbers, ids);
  return std::nullopt;
}

}  // namespace ptrain
