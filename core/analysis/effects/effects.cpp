#include "core/analysis/effects/effects.h"

#include "core/analysis/quality.h"
#include "core/analysis/speed.h"
#include "core/base/errors.h"
#include "core/report/json_file.h"
#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace ptrain {
namespace {

using nlohmann::json;

/// A case as a point of the factorial, with one value per good run and its round.
struct Cell {
  std::vector<std::size_t> levels;  // by axis
  std::vector<double> values;
  std::vector<std::int64_t> rounds;
  double mean = 0;
  double centre = 0;        // value that represents the case
  double own_variance = 0;  // variance of a metric's mean from the evaluation itself
};

/// Weights of cells' means.
using Contrast = std::map<std::size_t, double>;

class Factorial {
 public:
  explicit Factorial(const RunSet& runs) : runs_(runs) {
    if (runs.suite) axes_ = runs.suite->axes;
    keyed_ = !axes_.empty();
    if (!axes_.empty()) return;
    SuiteAxis listed{"", "case", {}};
    for (const MeasuredCase& item : runs.cases) listed.values.push_back(item.name);
    axes_.push_back(listed);
  }

  const std::vector<SuiteAxis>& axes() const { return axes_; }
  const std::vector<Cell>& cells() const { return cells_; }

  /// Fills the cells with one response of the good runs; cases without a value are left out.
  void measure(const ResponseMeasure& measure) {
    cells_.clear();
    for (const MeasuredCase& item : runs_.cases) {
      Cell cell;
      cell.levels = find_levels(item);
      for (const MeasuredRun* run : measure.response == Response::throughput ? item.good() : item.ended()) {
        const auto value = find_response_value(*run, measure);
        if (!value) continue;
        cell.values.push_back(*value);
        cell.rounds.push_back(run->record.repeat);
      }
      if (cell.values.empty()) continue;
      cell.mean =
          std::accumulate(cell.values.begin(), cell.values.end(), 0.0) / static_cast<double>(cell.values.size());
      const bool counted = measure.in_points();
      if (counted) cell.own_variance = measure_quality(item.ended()).own_variance.value_or(0);
      cell.centre = counted ? cell.mean : centre_interval(cell.values, interval_confidence).estimate;
      cells_.push_back(std::move(cell));
    }
  }

  /// The cell at `levels` with some axes at other levels; absent when it has no good run.
  std::optional<std::size_t> cell_at(std::vector<std::size_t> levels,
                                     std::initializer_list<std::pair<std::size_t, std::size_t>> changes) const {
    for (const auto& [axis, level] : changes) levels[axis] = level;
    const auto found =
        std::find_if(cells_.begin(), cells_.end(), [&](const Cell& cell) { return cell.levels == levels; });
    if (found == cells_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - cells_.begin());
  }

 private:
  std::vector<std::size_t> find_levels(const MeasuredCase& item) const {
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const json value = keyed_ ? find_settings(item).at(axes_[i].key) : json(item.name);
      const auto found = std::find(axes_[i].values.begin(), axes_[i].values.end(), value);
      levels.push_back(static_cast<std::size_t>(found - axes_[i].values.begin()));
    }
    return levels;
  }
  const json& find_settings(const MeasuredCase& item) const {
    for (const SuiteCase& known : runs_.suite->cases) {
      if (known.name == item.name) return known.settings;
    }
    fail("{}: a run belongs to case {}, which the suite does not have", runs_.path.string(), item.name);
  }

  const RunSet& runs_;
  std::vector<SuiteAxis> axes_;
  bool keyed_ = false;  // the axes are settings, not listed cases
  std::vector<Cell> cells_;
};

/// The variance of a run and its degrees of freedom; 0: unknown.
struct RunNoise {
  double variance = 0;
  std::int64_t freedom = 0;
};

/// Estimates noise from the residuals of every run after its case's mean and, in complete rounds, its round's mean.
RunNoise run_noise(const std::vector<Cell>& cells) {
  std::vector<double> rest;
  std::map<std::int64_t, std::pair<double, std::size_t>> rounds;
  for (const Cell& cell : cells) {
    for (std::size_t i = 0; i < cell.values.size(); ++i) {
      rest.push_back(cell.values[i] - cell.mean);
      auto& [sum, count] = rounds[cell.rounds[i]];
      sum += rest.back();
      ++count;
    }
  }
  RunNoise noise;
  noise.freedom = static_cast<std::int64_t>(rest.size()) - static_cast<std::int64_t>(cells.size());
  const bool complete =
      std::all_of(rounds.begin(), rounds.end(), [&](const auto& entry) { return entry.second.second == cells.size(); });
  if (complete) {
    std::size_t at = 0;
    for (const Cell& cell : cells) {
      for (const std::int64_t round : cell.rounds)
        rest[at++] -= rounds[round].first / static_cast<double>(cells.size());
    }
    noise.freedom -= static_cast<std::int64_t>(rounds.size()) - 1;
  }
  if (noise.freedom < 1) return {};
  noise.variance = std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0) / static_cast<double>(noise.freedom);
  return noise;
}

class EffectFinder {
 public:
  explicit EffectFinder(const RunSet& runs) : factorial_(runs) {
    report_.suite = runs.suite ? runs.suite->suite : runs.path.string();
    report_.estimator = speed_estimator(std::span(&runs, 1));
    report_.notes = runs.left_out_notes();
    for (const MeasuredCase& item : runs.cases) {
      if (item.good().empty()) report_.notes.push_back(fmt::format("{}: no good run, left out", item.name));
      for (const MeasuredRun& run : item.runs) seeds_.insert(run.record.seed);
      if (!report_.metric) report_.metric = measure_quality(item.ended()).metric;
    }
  }

  EffectsReport find() {
    for (const Response response : all_responses) {
      if (response == Response::accuracy && !report_.metric) continue;
      measure_ = {response, report_.estimator, report_.metric};
      factorial_.measure(measure_);
      if (factorial_.cells().size() < 2) {
        if (response == Response::throughput) fail("{}: fewer than two cases with good runs", report_.suite);
        continue;
      }
      noise_ = run_noise(factorial_.cells());
      counted_ = measure_.in_points() && seeds_.size() == 1 && has_own_variance();
      if (counted_) {
        noise_ = {};
        report_.notes.emplace_back(
            "accuracy: one training seed only (vary_seed: true varies it), so its intervals cover the error of the "
            "evaluation "
            "samples alone");
      } else if (noise_.freedom == 0) {
        report_.notes.push_back(
            fmt::format("{}: too few repeats for intervals, at least 2 of each case", to_string(response)));
      }
      add_main(response);
      add_interactions(response);
    }
    return std::move(report_);
  }

 private:
  bool has_own_variance() const {
    if (measure_.metric->kind == MetricKind::fraction) return true;
    return std::any_of(factorial_.cells().begin(), factorial_.cells().end(),
                       [](const Cell& cell) { return cell.own_variance > 0; });
  }

  void add_main(Response response) {
    const auto& axes = factorial_.axes();
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      for (std::size_t level = 1; level < axes[axis].values.size(); ++level) {
        std::vector<Contrast> parts;
        for (std::size_t i = 0; i < factorial_.cells().size(); ++i) {
          if (factorial_.cells()[i].levels[axis] != 0) continue;
          const auto changed = factorial_.cell_at(factorial_.cells()[i].levels, {{axis, level}});
          if (changed) parts.push_back({{*changed, 1.0}, {i, -1.0}});
        }
        add(response, {change_text(axis, level)}, parts);
      }
    }
  }

  void add_interactions(Response response) {
    const auto& axes = factorial_.axes();
    for (std::size_t a = 0; a < axes.size(); ++a) {
      for (std::size_t b = a + 1; b < axes.size(); ++b) {
        for (std::size_t i = 1; i < axes[a].values.size(); ++i) {
          for (std::size_t j = 1; j < axes[b].values.size(); ++j) add_interaction(response, a, i, b, j);
        }
      }
    }
  }

  void add_interaction(Response response, std::size_t a, std::size_t i, std::size_t b, std::size_t j) {
    std::vector<Contrast> parts;
    for (std::size_t base = 0; base < factorial_.cells().size(); ++base) {
      const auto& levels = factorial_.cells()[base].levels;
      if (levels[a] != 0 || levels[b] != 0) continue;
      const auto first = factorial_.cell_at(levels, {{a, i}}), second = factorial_.cell_at(levels, {{b, j}});
      const auto both = factorial_.cell_at(levels, {{a, i}, {b, j}});
      if (first && second && both) parts.push_back({{*both, 1.0}, {*first, -1.0}, {*second, -1.0}, {base, 1.0}});
    }
    add(response, {change_text(a, i), change_text(b, j)}, parts);
  }

  std::string change_text(std::size_t axis, std::size_t level) const {
    const SuiteAxis& a = factorial_.axes()[axis];
    return fmt::format("{}: {} -> {}", a.label, to_text(a.values[0]), to_text(a.values[level]));
  }

  void add(Response response, std::vector<std::string> changes, const std::vector<Contrast>& parts) {
    if (parts.empty()) {
      report_.notes.push_back(fmt::format("{} on {}: no combination was measured on both sides",
                                          fmt::join(changes, " x "), to_string(response)));
      return;
    }
    Contrast contrast;
    for (const Contrast& part : parts) {
      for (const auto& [cell, weight] : part) contrast[cell] += weight / static_cast<double>(parts.size());
    }
    std::size_t fewest = factorial_.cells().front().values.size();
    for (const auto& [cell, weight] : contrast) fewest = std::min(fewest, factorial_.cells()[cell].values.size());
    report_.effects.push_back({response, measure_.in_points() ? "points" : "%", std::move(changes),
                               compute_interval(contrast), static_cast<std::int64_t>(parts.size()),
                               static_cast<std::int64_t>(fewest)});
  }

  Interval compute_interval(const Contrast& contrast) const {
    double estimate = 0, mean = 0, run_parts = 0, counting_variance = 0;
    for (const auto& [index, weight] : contrast) {
      const Cell& cell = factorial_.cells()[index];
      estimate += weight * cell.centre;
      mean += weight * cell.mean;
      run_parts += weight * weight / static_cast<double>(cell.values.size());
      counting_variance += weight * weight * cell.own_variance;
    }
    Interval interval;
    interval.estimate = measure_.to_display_unit(estimate);
    if (noise_.freedom == 0 && !counted_) return interval;
    constexpr double part = (1 + interval_confidence) / 2;
    const double runs =
        noise_.freedom == 0 ? 0 : student_quantile(part, noise_.freedom) * std::sqrt(noise_.variance * run_parts);
    const double reach = std::hypot(runs, normal_quantile(part) * std::sqrt(counting_variance));
    interval.lower = measure_.to_display_unit(std::min(mean - reach, estimate));
    interval.upper = measure_.to_display_unit(std::max(mean + reach, estimate));
    interval.bounded = true;
    return interval;
  }

  Factorial factorial_;
  std::set<std::int64_t> seeds_;
  ResponseMeasure measure_;  // of the current response
  RunNoise noise_;           // likewise
  bool counted_ = false;     // intervals cover the evaluation's own error only
  EffectsReport report_;
};

}  // namespace

EffectsReport find_effects(const RunSet& runs) { return EffectFinder(runs).find(); }

}  // namespace ptrain
