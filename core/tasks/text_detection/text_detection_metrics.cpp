#include "core/tasks/text_detection/text_detection_metrics.h"

#include <cmath>

namespace ptrain {

std::vector<MetricInfo> TextDetectionMetrics::infos() {
  return {{"hmean", "Hmean", "of 1", MetricKind::score, true,
           "harmonic mean of precision and recall of boxes at an IoU of 0.5, as ICDAR's", MetricView::brief},
          {"precision", "precision", "of 1", MetricKind::score, true, "fraction of found boxes that match one",
           MetricView::brief},
          {"recall", "recall", "of 1", MetricKind::score, true, "fraction of boxes that are found", MetricView::brief},
          loss_info()};
}

void TextDetectionMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  const HostTensor* const boxes = batch.find(tensor_names::text_boxes);
  if (boxes == nullptr) return;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const TextMatches matches = match_text(read_text_boxes(boxes->row<float>(row)), find_text(batch, scores, row));
    matches_.expected += matches.expected;
    matches_.found += matches.found;
    matches_.matched += matches.matched;
  }
  add_samples(batch.count);
  add_loss(loss, batch.count);
}

std::vector<double> TextDetectionMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  for (const std::int64_t count : {matches_.expected, matches_.found, matches_.matched}) {
    state.push_back(static_cast<double>(count));
  }
  return state;
}

void TextDetectionMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  matches_.expected += std::llround(state[state_size]);
  matches_.found += std::llround(state[state_size + 1]);
  matches_.matched += std::llround(state[state_size + 2]);
}

/// Nothing is found at first: its precision is 0 then, as in ICDAR's script.
std::vector<MetricValue> TextDetectionMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  const auto ratio = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  std::optional<double> hmean, precision, recall;
  if (matches_.expected > 0) {
    precision = ratio(matches_.matched, matches_.found);
    recall = ratio(matches_.matched, matches_.expected);
    hmean = ratio(2 * matches_.matched, matches_.found + matches_.expected);
  }
  return {measured(all[0], hmean), measured(all[1], precision), measured(all[2], recall),
          measured(all[3], known_loss())};
}

}  // namespace ptrain
