#include "core/runtime/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain {
namespace {

double ratio(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }
double real(std::int64_t count) { return static_cast<double>(count); }  // exact below 2^53

double matthews(const std::vector<ClassCounts>& classes) {
  double samples = 0, right = 0, expected = 0, truths = 0, answers = 0;
  for (const ClassCounts& one : classes) {
    samples += real(one.truths);
    right += real(one.right);
    expected += real(one.truths) * real(one.answers);
    truths += real(one.truths) * real(one.truths);
    answers += real(one.answers) * real(one.answers);
  }
  const double spread = (samples * samples - truths) * (samples * samples - answers);
  return spread <= 0 ? 0.0 : (right * samples - expected) / std::sqrt(spread);
}

double mean_f1(const std::vector<ClassCounts>& classes) {
  double sum = 0, occurring = 0;
  for (const ClassCounts& one : classes) {
    sum += one.f1();
    occurring += one.truths + one.answers > 0 ? 1 : 0;
  }
  return ratio(sum, occurring);
}

/// None where either are all the same, or not finite.
std::optional<double> pearson(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  const double result = xy / std::sqrt(xx) / std::sqrt(yy);
  return std::isfinite(result) ? std::optional(std::clamp(result, -1.0, 1.0)) : std::nullopt;
}

/// From 1 on; equal values share their mean rank. NaNs everywhere where there is one.
std::vector<double> ranks_of(const std::vector<double>& values) {
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) return values;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + 1 + end) / 2;
  }
  return ranks;
}

}  // namespace

double ClassCounts::precision() const { return ratio(real(right), real(answers)); }
double ClassCounts::recall() const { return ratio(real(right), real(truths)); }
double ClassCounts::f1() const { return ratio(2 * real(right), real(truths + answers)); }

ClassificationMetrics::ClassificationMetrics(std::int64_t classes) : classes_(classes) {}

void ClassificationMetrics::add(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto scores = logits.subspan(row * classes, classes);
    const auto label = static_cast<std::size_t>(labels[row]);
    std::size_t rank = 0, best = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      // Written so that NaN ranks above everything: a model that gives NaN is not counted as right.
      const bool below = c < label ? scores[c] < scores[label] : scores[c] <= scores[label];
      rank += c != label && !below ? 1 : 0;
      if (scores[c] > scores[best]) best = c;
    }
    ++samples_;
    top1_ += rank == 0 ? 1 : 0;
    top5_ += rank < 5 ? 1 : 0;
    ++confusion_[{labels[row], static_cast<std::int32_t>(best)}];
    if (classes == 2) scored_.push_back({double{scores[1]} - double{scores[0]}, label == 1});
  }
}

std::vector<double> ClassificationMetrics::packed() const {
  std::vector<double> packed{real(samples_), real(top1_), real(top5_), loss_sum_,
                             static_cast<double>(confusion_.size())};
  for (const auto& [cell, count] : confusion_) {
    packed.insert(packed.end(), {static_cast<double>(cell.first), static_cast<double>(cell.second), real(count)});
  }
  for (const Scored& one : scored_) packed.insert(packed.end(), {one.score, one.positive ? 1.0 : 0.0});
  return packed;
}

void ClassificationMetrics::add_packed(std::span<const double> packed) {
  samples_ += std::llround(packed[0]);
  top1_ += std::llround(packed[1]);
  top5_ += std::llround(packed[2]);
  loss_sum_ += packed[3];
  const auto cells = static_cast<std::size_t>(packed[4]);
  packed = packed.subspan(5);
  for (std::size_t i = 0; i < cells; ++i) {
    confusion_[{static_cast<std::int32_t>(packed[3 * i]), static_cast<std::int32_t>(packed[3 * i + 1])}] +=
        std::llround(packed[3 * i + 2]);
  }
  packed = packed.subspan(3 * cells);
  for (std::size_t i = 0; i + 1 < packed.size(); i += 2) scored_.push_back({packed[i], packed[i + 1] > 0});
}

std::vector<ClassCounts> ClassificationMetrics::by_class() const {
  std::vector<ClassCounts> classes(static_cast<std::size_t>(classes_));
  for (const auto& [cell, count] : confusion_) {
    ClassCounts& truth = classes[static_cast<std::size_t>(cell.first)];
    truth.truths += count;
    truth.right += cell.first == cell.second ? count : 0;
    classes[static_cast<std::size_t>(cell.second)].answers += count;
  }
  return classes;
}

std::optional<double> ClassificationMetrics::auc() const {
  std::vector<Scored> sorted = scored_;
  if (std::any_of(sorted.begin(), sorted.end(), [](const Scored& one) { return std::isnan(one.score); })) return {};
  std::sort(sorted.begin(), sorted.end(), [](const Scored& a, const Scored& b) { return a.score < b.score; });
  double positives = 0, negatives = 0, won = 0;  // pairs of one of each in which the positive scores higher
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::find_if(begin, sorted.end(), [&](const Scored& one) { return one.score != begin->score; });
    const auto tied = static_cast<double>(std::count_if(begin, end, [](const Scored& one) { return one.positive; }));
    const double others = static_cast<double>(end - begin) - tied;
    won += tied * (negatives + others / 2);
    positives += tied;
    negatives += others;
    begin = end;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return won / (positives * negatives);
}

BalanceFigures ClassificationMetrics::balance() const {
  if (samples_ == 0) return {};
  const std::vector<ClassCounts> classes = by_class();
  const auto largest = std::max_element(classes.begin(), classes.end(),
                                        [](const ClassCounts& a, const ClassCounts& b) { return a.truths < b.truths; });
  return {fraction(largest->truths), mean_f1(classes), matthews(classes), auc()};
}

ClassificationReport ClassificationMetrics::report(const std::vector<std::string>& names) const {
  const auto name = [&](std::int64_t index) {
    const auto at = static_cast<std::size_t>(index);
    return at < names.size() ? names[at] : std::to_string(index);
  };
  ClassificationReport report;
  for (const ClassCounts& one : by_class()) {
    report.classes.push_back({name(static_cast<std::int64_t>(report.classes.size())), one.truths, one.answers,
                              one.precision(), one.recall(), one.f1()});
  }
  for (const auto& [cell, count] : confusion_) report.confusion.push_back({name(cell.first), name(cell.second), count});
  return report;
}

void RegressionMetrics::add(std::span<const float> values, std::span<const float> truths) {
  values_.insert(values_.end(), values.begin(), values.end());
  truths_.insert(truths_.end(), truths.begin(), truths.end());
}

std::vector<double> RegressionMetrics::packed() const {
  std::vector<double> packed = values_;
  packed.insert(packed.end(), truths_.begin(), truths_.end());
  return packed;
}

void RegressionMetrics::add_packed(std::span<const double> packed) {
  const auto half = packed.begin() + static_cast<std::ptrdiff_t>(packed.size() / 2);
  values_.insert(values_.end(), packed.begin(), half);
  truths_.insert(truths_.end(), half, packed.end());
}

ValueFigures RegressionMetrics::figures() const {
  if (values_.empty()) return {};
  double squares = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) squares += (values_[i] - truths_[i]) * (values_[i] - truths_[i]);
  return {pearson(values_, truths_), pearson(ranks_of(values_), ranks_of(truths_)), squares / real(samples())};
}

}  // namespace ptrain
