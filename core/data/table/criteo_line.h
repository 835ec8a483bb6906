// Parses one line of Criteo's click logs (Display Advertising Challenge, 2014) for a model.
#pragma once

#include "core/data/table/line_index.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptrain {

/// Where the ids of a sample's categories are written: rows of a table of `hash_buckets`, or keys of a dynamic one.
class CategoryIds {
 public:
  CategoryIds(std::span<std::int32_t> rows, std::int64_t hash_buckets);
  explicit CategoryIds(std::span<std::int64_t> keys) : keys_(keys) {}

  /// Sets id `at` to that of a feature's word whose fnv1a64() is `hash`.
  void set(std::size_t at, int feature, std::uint64_t hash) const;
  /// Sets all to -1, none.
  void clear() const;
  bool is_none(std::size_t at) const { return keys_.empty() ? rows_[at] == -1 : keys_[at] == -1; }

 private:
  std::span<std::int32_t> rows_;
  std::span<std::int64_t> keys_;
  std::uint64_t hash_buckets_ = 1, reciprocal_ = 0;  // 2^64 over them, for quotients without a division
};

inline constexpr int criteo_dense_features = 13;        // integer features, I1 to I13
inline constexpr int criteo_categorical_features = 26;  // categorical features, C1 to C26

/// Reads "label, 13 integers, 26 hexadecimal words", tab separated; any but the label may be empty. `numbers` [13] are
/// scaled as in PaddleRec, (value - smallest) / range by its table, 0 where a field is empty; `ids` [26] are
/// category_id() of each word, or its key. Returns the label, 0 or 1. Throws BadSample naming the place, what is
/// expected and what was found.
std::int32_t parse_criteo_line(std::string_view line, const LinePlace& place, std::span<float> numbers,
                               const CategoryIds& ids);

/// The same for a line that may lack its label and the tab after it; none where it does.
std::optional<std::int32_t> parse_criteo_question(std::string_view line, const LinePlace& place,
                                                  std::span<float> numbers, const CategoryIds& ids);

/// The row, from 0, of a categorical feature's word whose fnv1a64() is `hash`, in a table of `hash_buckets` rows: one
/// table serves all features, and a word in several features has a row in each. The same on every machine and in every
/// version.
std::int32_t find_row(int feature, std::uint64_t hash, std::int64_t hash_buckets);

/// The key in a dynamic table, of which find_row() takes the remainder, never -1: mixed64() of the hash plus `feature`
/// times 2^64 over the golden ratio, 0x9E3779B97F4A7C15.
std::int64_t find_key(int feature, std::uint64_t hash);

/// The row of a word of hexadecimal digits, which may be of either case.
std::int32_t category_id(int feature, std::string_view word, std::int64_t hash_buckets);

}  // namespace ptrain
