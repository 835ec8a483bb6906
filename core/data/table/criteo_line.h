// Parses one line of Criteo's click logs (Display Advertising Challenge, 2014) for a model.
#pragma once

#include "core/data/table/line_index.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptrain {

inline constexpr int criteo_dense_features = 13;        // integer features, I1 to I13
inline constexpr int criteo_categorical_features = 26;  // categorical features, C1 to C26

/// Reads "label, 13 integers, 26 hexadecimal words", tab separated; any but the label may be empty. `numbers` [13] are
/// scaled as in PaddleRec, (value - smallest) / range by its table, 0 where a field is empty; `ids` [26] are
/// category_id() of each word. Returns the label, 0 or 1. Throws BadSample naming the place, what is expected and what
/// was found.
std::int32_t parse_criteo_line(std::string_view line, const LinePlace& place, std::int64_t hash_buckets,
                               std::span<float> numbers, std::span<std::int32_t> ids);

/// The same for a line that may lack its label and the tab after it; none where it does.
std::optional<std::int32_t> parse_criteo_question(std::string_view line, const LinePlace& place,
                                                  std::int64_t hash_buckets, std::span<float> numbers,
                                                  std::span<std::int32_t> ids);

/// The row, from 0, of a categorical feature's word whose fnv1a64() is `hash`, in a table of `hash_buckets` rows: one
/// table serves all features, and a word in several features has a row in each. The same on every machine and in every
/// version.
std::int32_t find_row(int feature, std::uint64_t hash, std::int64_t hash_buckets);

/// The same for a word of hexadecimal digits, which may be of either case.
std::int32_t category_id(int feature, std::string_view word, std::int64_t hash_buckets);

}  // namespace ptrain
