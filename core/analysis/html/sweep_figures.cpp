#include "core/analysis/html/sweep_figures.h"

#include "core/analysis/effects/effects.h"
#include "core/analysis/html/case_groups.h"
#include "core/analysis/html/chart_axis.h"
#include "core/analysis/html/charts.h"
#include "core/analysis/html/curve_figures.h"
#include "core/analysis/html/effect_figure.h"
#include "core/analysis/quality.h"
#include "core/analysis/speed.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace ptrain::html {
namespace {

constexpr std::size_t most_histograms = 6;

/// A figure with its name and title, which name the group where there are several.
Figure make_figure(const CaseGroup& group, const std::string& name, const std::string& title) {
  Figure figure;
  figure.name = group.title.empty() ? name : file_stem(name + "-" + group.title);
  figure.title = group.title.empty() ? title : fmt::format("{}: {}", title, group.title);
  return figure;
}

/// "n 3" where the number of good runs must be shown.
std::string format_runs(const PlacedCase& item, const CaseGroup& group) {
  const bool same = std::all_of(group.cases.begin(), group.cases.end(),
                                [&](const PlacedCase& other) { return other.good.size() == item.good.size(); });
  return same && item.good.size() > 1 ? "" : fmt::format(", n {}", item.good.size());
}

/// A point for each case, by panel and row, over one common range.
Figure make_point_figure(const CaseGroup& group, Figure figure, const std::string& unit,
                         const std::function<Point(const PlacedCase&)>& make_point) {
  std::vector<std::vector<PointRow>> panels;
  PointAxis axis{{}, unit, std::nullopt};
  bool crosses = false;
  for (const auto& panel : group.panels()) {
    std::vector<PointRow>& rows = panels.emplace_back();
    for (const PlacedCase* item : panel) {
      Point point = make_point(*item);
      point.series = item->series;
      point.tip = fmt::format("{}: {}", item->label, point.text);
      crosses = crosses || !point.uncounted.empty();
      auto row = std::find_if(rows.begin(), rows.end(), [&](const PointRow& r) { return r.label == item->row; });
      if (row == rows.end()) row = rows.insert(row, {item->row, {}});
      row->points.push_back(std::move(point));
    }
    axis.range.add(find_range(rows));
    axis.value_column = std::max(axis.value_column, value_column(rows));
    figure.panels.push_back({panel.front()->panel, {}});
  }
  if (axis.range.empty()) return {};
  for (std::size_t i = 0; i < panels.size(); ++i) {
    figure.panels[i].drawing = point_chart(panels[i], axis, figure.title);
  }
  const std::string explained = crosses ? "a run that is not counted" : "";
  if (!group.series.empty() || crosses) figure.legend = legend(group.series, LegendOf::points, explained);
  return figure;
}

Point make_point(const Interval& interval, const std::string& text) {
  Point point;
  point.value = interval.estimate;
  point.text = text;
  if (interval.bounded) {
    point.lower = interval.lower;
    point.upper = interval.upper;
  }
  return point;
}

Point missing(const PlacedCase& item) {
  Point point;
  point.text = item.item->runs.empty() ? "not run" : "no good run";
  return point;
}

Figure make_throughput_figure(const CaseGroup& group, SpeedEstimator estimator) {
  Figure figure =
      make_figure(group, "throughput", fmt::format("Throughput ({}) and its 95 % interval", spelled_out(estimator)));
  return make_point_figure(group, std::move(figure), group.unit, [&](const PlacedCase& item) {
    Point point = missing(item);
    if (!item.good.empty()) {
      const Interval speed = speed_interval(item.good, estimator);
      point = make_point(speed, fmt::format("{:.1f}{}{}", speed.estimate, reach_text(speed), format_runs(item, group)));
    }
    for (const MeasuredRun& run : item.item->runs) {
      const bool counted = run.record.outcome == RunOutcome::ok;
      if (!counted && run.record.figures) point.uncounted.push_back(estimate_speed(*run.record.figures, estimator));
    }
    return point;
  });
}

Figure make_memory_figure(const CaseGroup& group) {
  return make_point_figure(group, make_figure(group, "memory", "Peak memory"), "MiB", [&](const PlacedCase& item) {
    if (item.ended.empty()) return missing(item);
    std::vector<double> mib;
    for (const MeasuredRun* run : item.ended) {
      mib.push_back(static_cast<double>(run->record.figures->memory_bytes) / (1 << 20));
    }
    const Interval memory = centre_interval(mib, interval_confidence);
    return make_point(memory, figure_text(memory.estimate));
  });
}

/// A figure of single values of each run, by their centre; none where no run has the value.
Figure make_value_figure(const CaseGroup& group, const std::string& name, const std::string& title,
                         const std::string& unit,
                         const std::function<std::optional<double>(const MeasuredRun&)>& read) {
  const auto has_value = [&](const PlacedCase& item) {
    return std::ranges::any_of(item.ended, [&](const MeasuredRun* run) { return read(*run).has_value(); });
  };
  if (std::ranges::none_of(group.cases, has_value)) return {};
  return make_point_figure(group, make_figure(group, name, title), unit, [&](const PlacedCase& item) {
    std::vector<double> values;
    for (const MeasuredRun* run : item.ended) {
      if (const auto value = read(*run)) values.push_back(*value);
    }
    if (values.empty()) return missing(item);
    const Interval centre = centre_interval(values, interval_confidence);
    return make_point(centre, figure_text(centre.estimate));
  });
}

std::optional<double> get_target_seconds(const MeasuredRun& run) { return run.record.figures->time_to_accuracy; }

std::optional<double> get_utilization(const MeasuredRun& run) {
  if (!run.report || !run.report->utilization || !run.report->utilization->mfu) return std::nullopt;
  return 100 * *run.report->utilization->mfu;
}

std::optional<double> get_energy(const MeasuredRun& run) {
  return run.report && run.report->gpu ? run.report->gpu->energy_joules_per_sample : std::nullopt;
}

/// The mean of the evaluated runs, with the metric's own error and the variation between runs.
Point make_accuracy_point(const PlacedCase& item, const MetricInfo& metric) {
  const Quality quality = measure_quality(item.ended);
  if (!quality.metric || quality.metric->name != metric.name) return missing(item);
  Interval interval;
  interval.estimate = quality.mean();
  const Interval runs = centre_interval(quality.values, interval_confidence);
  const double own = std::sqrt(quality.own_variance.value_or(0));
  const double reach =
      std::hypot(runs.bounded ? runs.half_width() : 0, normal_quantile((1 + interval_confidence) / 2) * own);
  interval.bounded = reach > 0;
  interval.lower = interval.estimate - reach;
  interval.upper = interval.estimate + reach;
  if (metric.kind == MetricKind::fraction) interval.lower = std::max(0.0, interval.lower);
  if (metric.is_bounded()) interval.upper = std::min(1.0, interval.upper);
  return make_point(interval, metric.value_text(interval.estimate));
}

Figure make_accuracy_figure(const CaseGroup& group) {
  const std::optional<MetricInfo> metric = find_metric(group);
  if (!metric) return {};
  const std::string title = metric->column() + " at the end and its 95 % interval";
  return make_point_figure(group, make_figure(group, "accuracy", title), metric->title,
                           [&](const PlacedCase& item) { return make_accuracy_point(item, *metric); });
}

std::vector<double> collect_steps(const PlacedCase& item) {
  std::vector<double> times;
  for (const MeasuredRun* run : item.good) {
    const std::vector<double> steady = steady_steps(*run);
    times.insert(times.end(), steady.begin(), steady.end());
  }
  return times;
}

/// Histograms for few cases; for many, medians with the 5 % to 95 % range.
Figure make_step_figure(const CaseGroup& group) {
  std::vector<Sample> samples;
  for (const PlacedCase& item : group.cases) {
    if (auto times = collect_steps(item); !times.empty()) samples.push_back({item.label, std::move(times)});
  }
  if (samples.empty()) return {};
  if (group.cases.size() <= most_histograms) {
    Figure figure = make_figure(group, "step_time", "Step time after warm-up, all runs");
    figure.panels.push_back({"", distribution_chart(samples, "ms", "Step times of each case")});
    return figure;
  }
  Figure figure = make_figure(group, "step_time", "Step time after warm-up: median, and 5 % to 95 % of the steps");
  return make_point_figure(group, std::move(figure), "ms", [](const PlacedCase& item) {
    const std::vector<double> times = collect_steps(item);
    if (times.empty()) return missing(item);
    const Interval middle{quantile(times, 0.5), quantile(times, 0.05), quantile(times, 0.95), true};
    return make_point(middle, figure_text(middle.estimate));
  });
}

/// Time by op for every case: the seven largest over all cases, and the rest combined.
Figure make_op_figure(const CaseGroup& group) {
  std::vector<std::pair<std::string, std::map<std::string, double>>> times;
  std::map<std::string, double> totals;
  for (const PlacedCase& item : group.cases) {
    if (item.report() == nullptr) continue;
    std::map<std::string, double> by_op;
    for (const KernelReport& kernel : item.report()->kernels) {
      if (kernel.milliseconds <= 0) continue;
      by_op[kernel.op] += kernel.milliseconds;
      totals[kernel.op] += kernel.milliseconds;
    }
    if (!by_op.empty()) times.emplace_back(item.label, std::move(by_op));
  }
  if (times.empty()) return {};
  std::vector<std::string> ops;
  for (const auto& [op, ms] : totals) ops.push_back(op);
  std::sort(ops.begin(), ops.end(), [&](const auto& a, const auto& b) { return totals[a] > totals[b]; });
  std::vector<std::string> names(ops.begin(),
                                 ops.begin() + static_cast<std::ptrdiff_t>(std::min(series_inks - 1, ops.size())));
  if (ops.size() > names.size()) names.emplace_back("others");
  std::vector<ShareRow> rows;
  for (const auto& [label, by_op] : times) {
    ShareRow row{label, std::vector<double>(names.size(), 0.0)};
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const auto found = by_op.find(ops[k]);
      if (found != by_op.end()) row.parts[std::min(k, names.size() - 1)] += found->second;
    }
    rows.push_back(std::move(row));
  }
  Figure figure = make_figure(group, "ops", "Time by op");
  figure.legend = legend(names, LegendOf::points);
  figure.panels.push_back({"", share_chart(rows, names, "Share of each op in the time of a step")});
  return figure;
}

}  // namespace

std::vector<Figure> sweep_figures(std::span<const RunSet> sets) {
  std::vector<Figure> figures;
  const auto add = [&](Figure figure) {
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
  };
  const auto good = [](const MeasuredCase& item) { return !item.good().empty(); };
  for (const RunSet& set : sets) {
    if (!set.suite || std::count_if(set.cases.begin(), set.cases.end(), good) < 2) continue;
    Figure figure = effect_figure(find_effects(set));
    if (sets.size() > 1) {
      figure.title += ": " + set.suite->suite;
      figure.name = file_stem("effects-" + set.suite->suite);
    }
    add(std::move(figure));
  }
  const SpeedEstimator estimator = speed_estimator(sets);
  for (const CaseGroup& group : case_groups(sets)) {
    add(make_throughput_figure(group, estimator));
    add(make_step_figure(group));
    add(make_memory_figure(group));
    add(make_accuracy_figure(group));
    add(make_value_figure(group, "time_to_accuracy", "Time until train.target was reached", "s", get_target_seconds));
    add(make_value_figure(group, "utilization", "Share of the device's measured peak FLOP/s", "%", get_utilization));
    add(make_value_figure(group, "energy", "Energy of the GPU per sample", "J", get_energy));
    for (const Curve& curve : sweep_curves(group))
      add(curve_figure(group, make_figure(group, curve.name, curve.title), curve));
    add(make_op_figure(group));
  }
  return figures;
}

}  // namespace ptrain::html
