// Writes the predictions of an evaluation, sample by sample, as predictions.jsonl.
#pragma once

#include "core/data/dataset.h"
#include "core/tasks/prediction.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// The predictions in the form that ranks exchange: everything that write_predictions() reads.
std::string pack_predictions(const std::vector<Prediction>& predictions);
std::vector<Prediction> unpack_predictions(const std::string& packed);

/// Drops label maps that write_predictions() would not show, once there are twice as many as it shows.
void keep_shown_label_maps(std::vector<Prediction>& predictions);

/// Writes one line per prediction, in the order of the samples; writes the whole file or nothing: index, the sample's
/// origin (the picture's file, or file and line or record), label, prediction, probability, error and the text.
/// For the worst of the wrong predictions there are, as data URIs, the pictures without files of their own, and of
/// those with a label map the overlays: the image with the predicted classes' colours beside that with the labels'.
/// Throws Error{failed}.
void write_predictions(const std::filesystem::path& path, const Dataset& data, std::vector<Prediction> predictions);

}  // namespace ptrain
