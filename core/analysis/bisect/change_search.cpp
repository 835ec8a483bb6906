#include "core/analysis/bisect/change_search.h"

#include "core/base/hash.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

constexpr std::int64_t fewest_to_confirm = 2;  // runs of the answer and of the commit before it
constexpr std::uint64_t end_every = 3;
/// Of the best commit's information, what a measured one must have to be measured again.
constexpr double enough_information = 0.5;
constexpr std::size_t fewest_differences = 3;

/// Bits that a noiseless run of a commit would give that has the change with this probability.
double compute_information(double probability) {
  if (probability <= 0 || probability >= 1) return 0;
  return -probability * std::log2(probability) - (1 - probability) * std::log2(1 - probability);
}

}  // namespace

ChangeSearch::ChangeSearch(std::size_t last, const SearchRule& rule) : last_(last), rule_(rule), counts_(last + 1, 0) {}

std::uint64_t ChangeSearch::draw(std::uint64_t index) const { return mixed64(mixed64(rule_.seed) + index); }

void ChangeSearch::add(const CommitRun& run) {
  runs_.push_back(run);
  ++counts_[run.commit];
  if (state_ == SearchState::comparing_ends) {
    compare_ends();
  } else {
    update();
  }
}

void ChangeSearch::skip(std::size_t commit) {
  skipped_.insert(commit);
  if (state_ == SearchState::searching) update();
}

void ChangeSearch::compare_ends() {
  if (runs_.back().commit == 0) good_.push_back(runs_.back().value);
  if (runs_.back().commit == last_) bad_.push_back(runs_.back().value);
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(good_.size(), bad_.size()); ++i) differences.push_back(bad_[i] - good_[i]);
  if (good_.size() != bad_.size() || differences.size() < fewest_differences) return;
  location_ = locate_change(runs_, last_);
  const Interval change = signed_rank_interval(differences, 0.95);
  const bool differs = compute_change_evidence(differences) >= 5 / (1 - rule_.confidence);
  if (differs && std::abs(change.estimate) >= rule_.threshold) {
    compared_ = runs_.size();
    state_ = SearchState::searching;
    update();
  } else if (change.bounded && change.lower > -rule_.threshold && change.upper < rule_.threshold) {
    state_ = SearchState::no_difference;
  } else if (static_cast<std::int64_t>(runs_.size()) >= rule_.most_runs) {
    state_ = SearchState::undecided;
  }
}

void ChangeSearch::update() {
  location_ = locate_change(runs_, last_);
  const CommitRange range = suspects();
  if (range.probability >= rule_.confidence && find_unconfirmed(range) == 0) {
    state_ = SearchState::found;
  } else {
    state_ =
        static_cast<std::int64_t>(runs_.size()) >= rule_.most_runs ? SearchState::undecided : SearchState::searching;
  }
}

CommitRange ChangeSearch::suspects() const {
  CommitRange best, current;
  for (std::size_t commit = 1; commit < location_.probability.size(); ++commit) {
    if (current.first == 0) current.first = commit;
    current.last = commit;
    current.probability += location_.probability[commit];
    if (!is_measurable(commit)) continue;
    if (current.probability > best.probability) best = current;
    current = {};
  }
  return best;
}

std::size_t ChangeSearch::find_unconfirmed(const CommitRange& range) const {
  if (counts_[range.last] < fewest_to_confirm) return range.last;
  return counts_[range.first - 1] < fewest_to_confirm ? range.first - 1 : 0;
}

std::size_t ChangeSearch::choose_end(std::uint64_t index) const {
  if (counts_[0] != counts_[last_]) return counts_[0] < counts_[last_] ? 0 : last_;
  return (draw(index) & 1) == 0 ? 0 : last_;
}

bool ChangeSearch::is_end_due() const {
  const std::uint64_t index = runs_.size() - compared_;
  return index % end_every == draw(index / end_every) % end_every;
}

std::size_t ChangeSearch::next() const {
  if (state_ == SearchState::comparing_ends || is_end_due()) return choose_end(runs_.size());
  return choose_commit();
}

std::size_t ChangeSearch::choose_commit() const {
  const CommitRange range = suspects();
  if (range.probability >= rule_.confidence) {
    if (const std::size_t commit = find_unconfirmed(range); commit != 0) return commit;
  }
  std::size_t best = 0, measured = 0;
  double most = 0, most_measured = 0, before = 0;
  for (std::size_t commit = 1; commit < last_; ++commit) {
    before += location_.probability[commit];
    if (!is_measurable(commit)) continue;
    const double information = compute_information(before);
    if (information > most) best = commit, most = information;
    if (counts_[commit] > 0 && information > most_measured) measured = commit, most_measured = information;
  }
  const std::size_t chosen = most_measured >= enough_information * most && measured != 0 ? measured : best;
  return chosen != 0 ? chosen : choose_end(runs_.size());
}

}  // namespace ptrain
