#include "core/tasks/segmentation/segmentation_metrics.h"

#include "core/data/tensor_names.h"
#include "core/tasks/segmentation/pixel_classes.h"

#include <cmath>

namespace ptrain {

std::vector<MetricInfo> SegmentationMetrics::infos() {
  return {{"miou", "mIoU", "of 1", MetricKind::score, true, "mean over classes of intersection over union"},
          {"pixel_accuracy", "pixel accuracy", "of 1", MetricKind::score, true, "fraction of correct pixels",
           MetricView::brief},
          loss_info()};
}

void SegmentationMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  if (!batch.has(tensor_names::masks)) return;
  const HostTensor& logits = scores.at(tensor_names::logits);
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const PixelClasses labels = get_labels(batch, row), found = find_likeliest(batch, logits, row, labels.size);
    for (std::size_t i = 0; i < labels.classes.size(); ++i) {
      if (labels.classes[i] < 0) continue;
      ++confusion_[static_cast<std::size_t>(labels.classes[i]) * classes + static_cast<std::size_t>(found.classes[i])];
    }
  }
  add_samples(batch.count);
  add_loss(loss, batch.count);
}

std::vector<double> SegmentationMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  for (const std::int64_t count : confusion_) state.push_back(static_cast<double>(count));  // exact below 2^53
  return state;
}

void SegmentationMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  for (std::size_t i = 0; i < confusion_.size(); ++i) confusion_[i] += std::llround(state[state_size + i]);
}

std::vector<SegmentationMetrics::ClassPixels> SegmentationMetrics::by_class() const {
  std::vector<ClassPixels> classes(static_cast<std::size_t>(classes_));
  for (std::size_t label = 0; label < classes.size(); ++label) {
    for (std::size_t prediction = 0; prediction < classes.size(); ++prediction) {
      const std::int64_t count = confusion_[label * classes.size() + prediction];
      classes[label].labelled += count;
      classes[prediction].predicted += count;
      if (label == prediction) classes[label].both = count;
    }
  }
  return classes;
}

std::vector<MetricValue> SegmentationMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  double overlaps = 0, occurring = 0, right = 0, pixels = 0;
  for (const ClassPixels& one : by_class()) {
    right += static_cast<double>(one.both);
    pixels += static_cast<double>(one.labelled);
    if (one.united() == 0) continue;
    ++occurring;
    overlaps += static_cast<double>(one.both) / static_cast<double>(one.united());
  }
  const auto mean = [](double sum, double count) { return count > 0 ? std::optional(sum / count) : std::nullopt; };
  return {measured(all[0], mean(overlaps, occurring)), measured(all[1], mean(right, pixels)),
          measured(all[2], known_loss())};
}

std::string SegmentationMetrics::name_of(std::size_t index) const {
  return index < names_.size() ? names_[index] : std::to_string(index);
}

std::optional<ClassificationReport> SegmentationMetrics::details() const {
  ClassificationReport report;
  const auto ratio = [](std::int64_t part, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  for (const ClassPixels& one : by_class()) {
    report.classes.push_back({name_of(report.classes.size()), one.labelled, one.predicted,
                              ratio(one.both, one.predicted), ratio(one.both, one.labelled),
                              ratio(2 * one.both, one.labelled + one.predicted), ratio(one.both, one.united())});
  }
  for (std::size_t i = 0; i < confusion_.size(); ++i) {
    const auto classes = static_cast<std::size_t>(classes_);
    if (confusion_[i] > 0) report.confusion.push_back({name_of(i / classes), name_of(i % classes), confusion_[i]});
  }
  return report;
}

}  // namespace ptrain
