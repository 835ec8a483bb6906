// Parses one line of multi-hot clicks for a model: a label, numbers, and keys of numbered slots, in LibSVM's form:
//
//   1 0.25 1:shoes 1:red 4:77
#pragma once

#include "core/data/dataset.h"
#include "core/data/table/criteo_line.h"

#include <algorithm>
#include <optional>

namespace ptrain {

/// Ids of a sample: one of each categorical feature, or a bag of them.
inline std::size_t count_ids(const DatasetInfo& data) {
  return static_cast<std::size_t>(data.categorical_features) * static_cast<std::size_t>(std::max(1, data.bag_size));
}

/// Where a sample's ids are written in a batch.
inline CategoryIds get_ids(const SampleRow& row, const DatasetInfo& data) {
  if (data.dynamic_table) return CategoryIds(row.at<std::int64_t>(tensor_names::categorical_features));
  return {row.at<std::int32_t>(tensor_names::categorical_features), data.hash_buckets};
}

/// Reads "label, data.dense_features numbers, SLOT:KEY as often as there are keys", between blanks or tabs. The label
/// is 1 or +1 for a click, 0 or -1 for none; slots are 1 to data.categorical_features, in any order; keys are words or
/// numbers, whose rows are as find_row() says, or keys as find_key(), of feature slot - 1. `numbers`
/// [data.dense_features] are as they stand; `ids` [data.categorical_features, data.bag_size] are a slot's keys in the
/// order of the line, then -1. Returns the label, 0 or 1. Throws BadSample naming the place, what is expected and what
/// was found.
std::int32_t parse_slots_line(std::string_view line, const LinePlace& place, const DatasetInfo& data,
                              std::span<float> numbers, const CategoryIds& ids);

/// The same for a line that may lack its label; none where it does.
std::optional<std::int32_t> parse_slots_question(std::string_view line, const LinePlace& place, const DatasetInfo& data,
                                                 std::span<float> numbers, const CategoryIds& ids);

}  // namespace ptrain
