#include "core/tasks/classification/classification_metrics.h"

#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ptrain {
namespace {

double ratio(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }
double real(std::int64_t count) { return static_cast<double>(count); }  // exact below 2^53

double matthews(const std::vector<ClassCounts>& classes) {
  double samples = 0, right = 0, expected = 0, labels = 0, predictions = 0;
  for (const ClassCounts& one : classes) {
    samples += real(one.labels);
    right += real(one.right);
    expected += real(one.labels) * real(one.predictions);
    labels += real(one.labels) * real(one.labels);
    predictions += real(one.predictions) * real(one.predictions);
  }
  const double spread = (samples * samples - labels) * (samples * samples - predictions);
  return spread <= 0 ? 0.0 : (right * samples - expected) / std::sqrt(spread);
}

double mean_f1(const std::vector<ClassCounts>& classes) {
  double sum = 0, occurring = 0;
  for (const ClassCounts& one : classes) {
    sum += one.f1();
    occurring += one.labels + one.predictions > 0 ? 1 : 0;
  }
  return ratio(sum, occurring);
}

}  // namespace

double ClassCounts::precision() const { return ratio(real(right), real(predictions)); }
double ClassCounts::recall() const { return ratio(real(right), real(labels)); }
double ClassCounts::f1() const { return ratio(2 * real(right), real(labels + predictions)); }

ClassificationMetrics::ClassificationMetrics(std::int64_t classes, std::vector<std::string> names,
                                             ClassMetricsOrder order)
    : classes_(classes), names_(std::move(names)), order_(order) {}

std::vector<MetricInfo> ClassificationMetrics::infos(std::int64_t classes, ClassMetricsOrder order) {
  const bool any = classes == 0, two = any || classes == 2;
  const char* of_1 = "of 1";
  std::vector<MetricInfo> infos{
      {"top1", "top-1", of_1, MetricKind::fraction, true, "fraction of samples whose most likely class is the label"}};
  const MetricInfo area{"auc", "AUC", of_1, MetricKind::score, true, "area under the ROC curve of class 1"};
  if (any || classes > 5) {
    infos.push_back({"top5", "top-5", of_1, MetricKind::fraction, true,
                     "fraction of samples with the label among the five most likely classes", MetricView::brief});
  }
  if (two) infos.push_back({"f1", "F1", of_1, MetricKind::score, true, "F1 of class 1"});
  infos.push_back({"macro_f1", "macro F1", of_1, MetricKind::score, true,
                   "mean F1 of the classes that occur as label or prediction"});
  infos.push_back(
      {"mcc", "MCC", "", MetricKind::score, true, "Matthews correlation of labels and predictions, -1 to 1"});
  if (two) infos.insert(order == ClassMetricsOrder::ranking_first && !any ? infos.begin() : infos.end(), area);
  infos.push_back({"majority", "majority class", of_1, MetricKind::reference, true,
                   "fraction of samples in the most frequent class: top-1 of always predicting it"});
  infos.push_back(loss_info());
  return infos;
}

void ClassificationMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) {
  add_loss(loss, batch.count);
  if (!batch.has(tensor_names::labels)) return;
  add(scores.values<float>(tensor_names::logits),
      batch.values<std::int32_t>(tensor_names::labels).first(static_cast<std::size_t>(batch.count)));
}

void ClassificationMetrics::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] < 0) continue;
    const auto scores = logits.subspan(row * classes, classes);
    const auto label = static_cast<std::size_t>(labels[row]);
    std::size_t rank = 0, best = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      // Written so that NaN ranks above everything: a prediction from NaN is not counted as correct.
      const bool below = c < label ? scores[c] < scores[label] : scores[c] <= scores[label];
      rank += c != label && !below ? 1 : 0;
      if (scores[c] > scores[best]) best = c;
    }
    add_samples(1);
    top1_ += rank == 0 ? 1 : 0;
    top5_ += rank < 5 ? 1 : 0;
    ++confusion_[{labels[row], static_cast<std::int32_t>(best)}];
    if (classes != 2) continue;
    const double score = double{scores[1]} - double{scores[0]};
    if (std::isnan(score)) {
      has_nan_ = true;
    } else {
      area_.add(score, label == 1);
    }
  }
}

std::vector<double> ClassificationMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  state.insert(state.end(), {real(top1_), real(top5_), has_nan_ ? 1.0 : 0.0, real(std::ssize(confusion_))});
  for (const auto& [cell, count] : confusion_) {
    state.insert(state.end(), {static_cast<double>(cell.first), static_cast<double>(cell.second), real(count)});
  }
  return state;
}

void ClassificationMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  state = state.subspan(state_size);
  top1_ += std::llround(state[0]);
  top5_ += std::llround(state[1]);
  has_nan_ = has_nan_ || state[2] > 0;
  const auto cells = static_cast<std::size_t>(state[3]);
  state = state.subspan(4);
  for (std::size_t i = 0; i < cells; ++i) {
    confusion_[{static_cast<std::int32_t>(state[3 * i]), static_cast<std::int32_t>(state[3 * i + 1])}] +=
        std::llround(state[3 * i + 2]);
  }
}

std::vector<ClassCounts> ClassificationMetrics::by_class() const {
  std::vector<ClassCounts> classes(static_cast<std::size_t>(classes_));
  for (const auto& [cell, count] : confusion_) {
    ClassCounts& one = classes[static_cast<std::size_t>(cell.first)];
    one.labels += count;
    one.right += cell.first == cell.second ? count : 0;
    classes[static_cast<std::size_t>(cell.second)].predictions += count;
  }
  return classes;
}

MetricValue ClassificationMetrics::fraction(const MetricInfo& info, std::int64_t part) const {
  const double share = ratio(real(part), real(samples()));
  return measured(info, share, std::sqrt(share * (1 - share) / real(samples())));
}

std::vector<MetricValue> ClassificationMetrics::values() const {
  std::vector<MetricValue> values;
  for (const MetricInfo& info : infos(classes_, order_)) {
    values.push_back(measured(info, std::nullopt));
    if (info.name == "f1") values.back().title += " of class " + name_of(1);
  }
  if (samples() == 0) return values;
  const std::vector<ClassCounts> classes = by_class();
  const auto largest = std::max_element(classes.begin(), classes.end(),
                                        [](const ClassCounts& a, const ClassCounts& b) { return a.labels < b.labels; });
  for (MetricValue& one : values) {
    if (one.name == "top1") one = fraction(one, top1_);
    if (one.name == "top5") one = fraction(one, top5_);
    if (one.name == "f1") one.value = classes[1].f1();
    if (one.name == "macro_f1") one.value = mean_f1(classes);
    if (one.name == "mcc") one.value = matthews(classes);
    if (one.name == "majority") one = fraction(one, largest->labels);
    if (one.name == loss_info().name) one.value = known_loss();
    if (one.name == "auc" && !has_nan_) {
      const AreaUnderCurve::Area area = area_.compute();
      one.value = area.value;
      one.standard_error = area.standard_error;
    }
  }
  return values;
}

std::string ClassificationMetrics::name_of(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  return at < names_.size() ? names_[at] : std::to_string(index);
}

std::optional<ClassificationReport> ClassificationMetrics::details() const {
  ClassificationReport report;
  for (const ClassCounts& one : by_class()) {
    report.classes.push_back({name_of(static_cast<std::int64_t>(report.classes.size())), one.labels, one.predictions,
                              one.precision(), one.recall(), one.f1()});
  }
  for (const auto& [cell, count] : confusion_)
    report.confusion.push_back({name_of(cell.first), name_of(cell.second), count});
  return report;
}

}  // namespace ptrain
