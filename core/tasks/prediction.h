// What a model answered to one sample, in the forms that people and programs read it in.
#pragma once

#include "core/data/batch.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct Prediction {
  using Json = nlohmann::ordered_json;

  std::int64_t index = 0;          // in the data set
  Json answer, label;              // a class's name, a value, ...; null: the label is not known
  Json details;                    // an object: the whole answer, as fields of a line of JSON
  std::string text;                // the whole answer on one line, for people
  std::vector<std::string> cells;  // the whole answer as CSV, a cell for each of the task's columns
  std::optional<double> probability, label_probability;  // of the answer and of the label, where the model tells
  double error = 0;  // how wrong it is, the more the larger; 0: it is right, or the label is not known

  bool has_label() const { return !label.is_null(); }
  bool is_wrong() const { return has_label() && label != answer; }
};

/// How much of an answer is told.
struct PredictionOptions {
  std::size_t top = 1;                   // of classes, the likeliest so many
  std::vector<std::string> class_names;  // by number
};

/// Position in the data set of a batch's row; the row itself of batches that were not loaded from one.
inline std::int64_t index_of_row(const Batch& batch, std::int64_t row) {
  return batch.sample_indices.empty() ? row : batch.sample_indices[static_cast<std::size_t>(row)];
}

/// An answer or a label as people and tables have it: "cat", "3.25".
std::string format_answer(const Prediction::Json& answer);

}  // namespace ptrain
