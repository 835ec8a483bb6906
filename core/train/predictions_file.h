// The answers of an evaluation, sample by sample, as predictions.jsonl.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/tasks/prediction.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// What ranks tell each other of them: all that write_predictions() reads.
std::string pack_predictions(const std::vector<Prediction>& predictions);
std::vector<Prediction> unpack_predictions(const std::string& packed);

/// Where a run leaves them.
inline std::filesystem::path predictions_path(const Config& config) {
  return std::filesystem::path(config.output.dir) / "predictions.jsonl";
}

/// Writes a line per prediction, in the samples' order, whole or not at all: index, where the sample comes from (the
/// picture's file, or file and line or record), label, prediction, probability, error and the text. Pictures that lie
/// in no files of their own are given, as data URIs, for the worst of the wrong answers. Throws Error{failed}.
void write_predictions(const std::filesystem::path& path, const Dataset& data, std::vector<Prediction> predictions);

}  // namespace ptrain
