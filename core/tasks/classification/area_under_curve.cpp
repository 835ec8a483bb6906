#include "core/tasks/classification/area_under_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

namespace ptrain {

/// Iterates over a run, of which it holds a piece at a time.
class AreaUnderCurve::Cursor {
 public:
  Cursor(const AreaUnderCurve& area, const Run& run, std::size_t piece) : area_(&area), run_(run), piece_(piece) {}
  Cursor(std::vector<double> scores, bool positive) : run_{0, scores.size(), positive}, held_(std::move(scores)) {
    std::ranges::sort(held_);
    read_ = held_.size();
  }

  bool positive() const { return run_.positive; }
  std::optional<double> next() {
    if (at_ == held_.size()) {
      if (read_ == run_.scores) return std::nullopt;
      held_ = area_->read(run_, read_, std::min(piece_, run_.scores - read_));
      read_ += held_.size();
      at_ = 0;
    }
    return held_[at_++];
  }

 private:
  const AreaUnderCurve* area_ = nullptr;
  Run run_;
  std::size_t piece_ = 0, read_ = 0, at_ = 0;
  std::vector<double> held_;
};

void AreaUnderCurve::add(double score, bool positive) {
  tails_[positive ? 1 : 0].push_back(score);
  if (tails_[0].size() + tails_[1].size() == limit_) spill();
}

void AreaUnderCurve::spill() {
  if (file_ == nullptr) file_ = std::make_unique<TemporaryFile>("the evaluation's scores: cannot be written");
  for (const bool positive : {false, true}) {
    std::vector<double>& tail = tails_[positive ? 1 : 0];
    if (tail.empty()) continue;
    std::ranges::sort(tail);
    runs_.push_back({file_->size(), tail.size(), positive});
    file_->append(std::as_bytes(std::span(tail)));
    tail.clear();
  }
}

std::vector<double> AreaUnderCurve::read(const Run& run, std::size_t first, std::size_t scores) const {
  std::vector<double> piece(scores);
  file_->read(run.offset + first * sizeof(double), std::as_writable_bytes(std::span(piece)));
  return piece;
}

std::vector<double> AreaUnderCurve::part(std::size_t index) const {
  const bool on_disk = index < runs_.size();
  const bool positive = on_disk ? runs_[index].positive : index > runs_.size();
  std::vector<double> part = on_disk ? read(runs_[index], 0, runs_[index].scores) : tails_[positive ? 1 : 0];
  part.insert(part.begin(), positive ? 1.0 : 0.0);
  return part;
}

void AreaUnderCurve::merge(std::span<const double> part) {
  for (const double score : part.subspan(1)) add(score, part[0] > 0);
}

void AreaUnderCurve::visit_ascending(const std::function<void(double score, bool positive)>& take) const {
  std::vector<Cursor> cursors;
  for (const Run& run : runs_) cursors.emplace_back(*this, run, std::max<std::size_t>(1, limit_ / runs_.size()));
  for (const bool positive : {false, true}) cursors.emplace_back(tails_[positive ? 1 : 0], positive);
  using Head = std::pair<double, std::size_t>;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push_next = [&](std::size_t cursor) {
    if (const std::optional<double> score = cursors[cursor].next()) heads.emplace(*score, cursor);
  };
  for (std::size_t cursor = 0; cursor < cursors.size(); ++cursor) push_next(cursor);
  while (!heads.empty()) {
    const auto [score, cursor] = heads.top();
    heads.pop();
    take(score, cursors[cursor].positive());
    push_next(cursor);
  }
}

AreaUnderCurve::Area AreaUnderCurve::compute() const {
  double positives = 0, negatives = 0, won = 0;  // pairs of one of each in which the positive has the higher score
  double tied = 0, others = 0;                   // positives and negatives of the score
  double current = std::numeric_limits<double>::quiet_NaN();
  const auto count_ties = [&] {
    won += tied * (negatives + others / 2);
    positives += std::exchange(tied, 0);
    negatives += std::exchange(others, 0);
  };
  visit_ascending([&](double score, bool positive) {
    if (score != current) count_ties();
    current = score;
    (positive ? tied : others) += 1;
  });
  count_ties();
  if (positives == 0 || negatives == 0) return {};
  const double area = won / (positives * negatives);
  const double two_positives = area / (2 - area),
               two_negatives = 2 * area * area / (1 + area);  // of one negative, of one positive
  const double variance = area * (1 - area) + (positives - 1) * (two_positives - area * area) +
                          (negatives - 1) * (two_negatives - area * area);
  return {area, std::sqrt(std::max(0.0, variance) / (positives * negatives))};
}

}  // namespace ptrain
