// Rows of a dynamic table, from the tensors of a checkpoint or a weights file.
#pragma once

#include "core/base/row_index.h"
#include "tests/unit/train/small_training.h"

#include <cstring>

namespace ptrain::testing {

inline std::vector<std::int64_t> read_keys(const Weights& weights) {
  const std::vector<std::byte>& bytes = weights.at(row_index::keys);
  std::vector<std::int64_t> keys(bytes.size() / sizeof(std::int64_t));
  std::memcpy(keys.data(), bytes.data(), bytes.size());
  return keys;
}

using RowsByKey = std::map<std::int64_t, std::vector<float>>;

inline RowsByKey rows_by_key(const Weights& weights, const std::string& name) {
  const std::vector<std::int64_t> keys = read_keys(weights);
  const std::vector<std::byte>& bytes = weights.at(name);
  const std::size_t width = bytes.size() / sizeof(float) / keys.size();
  RowsByKey rows;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::vector<float>& row = rows[keys[i]];
    row.resize(width);
    std::memcpy(row.data(), bytes.data() + i * width * sizeof(float), width * sizeof(float));
  }
  return rows;
}

}  // namespace ptrain::testing
