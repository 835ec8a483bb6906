#include "core/tasks/detection/instance_metrics.h"

namespace ptrain {

std::vector<MetricInfo> InstanceMetrics::infos() {
  std::vector<MetricInfo> all = describe_figures(MatchedBy::masks);
  const std::vector<MetricInfo> boxes = describe_figures(MatchedBy::boxes);
  all.insert(all.end(), boxes.begin(), boxes.end());
  return all;
}

void InstanceMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  if (!batch.has(tensor_names::annotations)) return;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const std::vector<AnnotatedBox> annotated = read_annotated(batch, row);
    const std::vector<DetectedBox> found = read_found(batch, scores, row);
    if (batch.has(tensor_names::object_masks)) masks_.add_image(index_of_row(batch, row), annotated, found);
    boxes_.add_image(index_of_row(batch, row), annotated, found);
  }
  add_samples(batch.count);
  add_loss(loss, batch.count);
}

std::vector<double> InstanceMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  const std::vector<double> masks = masks_.state(), boxes = boxes_.state();
  state.push_back(static_cast<double>(masks.size()));
  state.insert(state.end(), masks.begin(), masks.end());
  state.insert(state.end(), boxes.begin(), boxes.end());
  return state;
}

void InstanceMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  const auto of_masks = static_cast<std::size_t>(state[state_size]);
  const auto matches = state.subspan(state_size + 1);
  masks_.merge(matches.first(of_masks));
  boxes_.merge(matches.subspan(of_masks));
}

std::vector<MetricValue> InstanceMetrics::values() const {
  std::vector<MetricValue> all = measure_figures(MatchedBy::masks, masks_.figures());
  const std::vector<MetricValue> boxes = measure_figures(MatchedBy::boxes, boxes_.figures());
  all.insert(all.end(), boxes.begin(), boxes.end());
  return all;
}

}  // namespace ptrain
