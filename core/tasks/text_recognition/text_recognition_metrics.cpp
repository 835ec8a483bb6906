#include "core/tasks/text_recognition/text_recognition_metrics.h"

#include "core/data/tensor_names.h"
#include "core/tasks/text_recognition/ctc_decoding.h"

#include <cmath>

namespace ptrain {

std::vector<MetricInfo> TextRecognitionMetrics::infos() {
  return {
      {"word_accuracy", "word accuracy", "", MetricKind::fraction, true, "fraction of texts read without an error"},
      {"normalized_edit_distance", "normalised edit distance", "", MetricKind::score, false,
       "mean edit distance of a text and its label, as a share of the longer one (ICDAR's N.E.D.)", MetricView::brief},
      loss_info()};
}

void TextRecognitionMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  const HostTensor* const labels = batch.find(tensor_names::characters);
  if (labels == nullptr) return;
  const HostTensor& logits = scores.at(tensor_names::logits);
  std::int64_t labelled = 0;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const auto label = trim_characters(labels->row<std::int32_t>(row));
    if (label.empty()) continue;
    const RecognizedText text = decode_greedily(logits.row<float>(row), logits.shape()[-1]);
    const double distance = compute_edit_distance(text.characters, label);
    ++labelled;
    right_ += distance == 0 ? 1 : 0;
    distances_ += distance;
  }
  add_samples(labelled);
  add_loss(loss, labelled);
}

std::vector<double> TextRecognitionMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  state.insert(state.end(), {right_, distances_});
  return state;
}

void TextRecognitionMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  right_ += state[state_size];
  distances_ += state[state_size + 1];
}

std::vector<MetricValue> TextRecognitionMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  if (samples() == 0) return {measured(all[0], {}), measured(all[1], {}), measured(all[2], {})};
  const auto count = static_cast<double>(samples());
  const double accuracy = right_ / count;
  return {measured(all[0], accuracy, std::sqrt(accuracy * (1 - accuracy) / count)),
          measured(all[1], distances_ / count), measured(all[2], known_loss())};
}

}  // namespace ptrain
