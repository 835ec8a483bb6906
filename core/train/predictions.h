// The answers of an evaluation, sample by sample, as predictions.jsonl.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"

#include <filesystem>
#include <span>
#include <vector>

namespace ptrain {

/// What ranks tell each other of one sample; numbers all, which a double holds exactly.
struct Prediction {
  double index = 0;              // in the data set
  double truth = 0, answer = 0;  // classes, or values
  double probability = 0;        // of the answer; not a number where the logits are none
};

/// The likeliest class by `logits` [classes], of equal ones the first.
Prediction make_prediction(std::int64_t index, std::int32_t truth, std::span<const float> logits);

/// Where a run leaves them.
inline std::filesystem::path predictions_path(const Config& config) {
  return std::filesystem::path(config.output.dir) / "predictions.jsonl";
}

/// Writes a line per prediction, in the samples' order, whole or not at all: index, where the sample comes from (the
/// picture's file, or file and line or record), truth, prediction, probability, and the text. Pictures that lie in no
/// files of their own are given, as data URIs, for the surest of the wrong answers. Throws Error{failed}.
void write_predictions(const std::filesystem::path& path, const Dataset& data, std::vector<Prediction> predictions);

}  // namespace ptrain
