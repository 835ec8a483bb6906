#include "core/analysis/html/curve_figures.h"

#include "core/analysis/quality.h"
#include "core/report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace ptrain::html {
namespace {

Series make_loss_series(const MeasuredRun& run) { return logged(run, &StepLine::loss); }

Series make_memory_series(const MeasuredRun& run) {
  Series series = logged(run, &StepLine::memory_bytes);
  for (double& bytes : series.y) bytes /= 1 << 20;
  return series;
}

/// The runs with a report that differ in their seeds; none where all have the same.
std::vector<const MeasuredRun*> select_seeds(const PlacedCase& item) {
  std::vector<const MeasuredRun*> runs;
  std::set<std::int64_t> seeds;
  for (const MeasuredRun* run : item.ended) {
    if (run->report && seeds.insert(run->record.seed).second) runs.push_back(run);
  }
  return runs.size() > 1 ? runs : std::vector<const MeasuredRun*>{};
}

/// A metric of every evaluation that has it.
Series collect_metric(const MeasuredRun& run, const std::string& metric) {
  Series series;
  for (const EvaluationReport& one : run.report->evaluations) {
    const MetricValue* found = one.evaluation.find(metric);
    if (found == nullptr || !found->value) continue;
    series.x.push_back(static_cast<double>(one.step));
    series.y.push_back(*found->value);
  }
  return series;
}

/// The mean of several runs' curves with a band of one standard deviation, where all of them have a value.
Series average(const std::vector<Series>& curves) {
  std::map<double, std::vector<double>> values;
  for (const Series& curve : curves) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) values[curve.x[i]].push_back(curve.y[i]);
  }
  Series mean;
  for (const auto& [x, y] : values) {
    if (y.size() != curves.size()) continue;
    const Statistics known = summarize(y);
    mean.x.push_back(x);
    mean.y.push_back(known.mean);
    mean.lower.push_back(known.mean - known.stdev);
    mean.upper.push_back(known.mean + known.stdev);
  }
  return mean;
}

/// The curve of a case: that of its runs of several seeds together, else of the run whose report it uses.
Series read_case(const PlacedCase& item, const Curve& curve) {
  std::vector<Series> curves;
  for (const MeasuredRun* run : select_seeds(item)) {
    if (Series series = curve.read(*run); !series.x.empty()) curves.push_back(std::move(series));
  }
  return thinned(curves.size() > 1 ? average(curves) : curve.read(*item.reported));
}

struct CurvePanel {
  std::string title;
  std::vector<Series> series;
};

/// Curves by panel and row where cases have colours; else in panels of one curve per colour.
std::vector<CurvePanel> make_panels(const CaseGroup& group, const Curve& curve) {
  std::vector<CurvePanel> panels;
  for (const PlacedCase& item : group.cases) {
    if (item.reported == nullptr) continue;
    Series series = read_case(item, curve);
    if (series.x.empty()) continue;
    series.label = item.label;
    std::string title;
    if (!group.series.empty()) {
      title = item.panel + (item.panel.empty() || item.row.empty() ? "" : ", ") + item.row;
      series.series = item.series;
    }
    auto panel = std::find_if(panels.begin(), panels.end(), [&](const CurvePanel& p) {
      return p.title == title && (!group.series.empty() || p.series.size() < series_inks);
    });
    if (panel == panels.end()) panel = panels.insert(panel, {title, {}});
    if (group.series.empty()) series.series = panel->series.size();
    panel->series.push_back(std::move(series));
  }
  return panels;
}

}  // namespace

Figure draw_curves(const std::string& name, const std::string& title, const std::string& unit,
                   std::vector<Series> series) {
  std::erase_if(series, [](const Series& s) { return s.x.empty(); });
  if (series.empty()) return {};
  std::vector<std::string> names;
  for (Series& s : series) {
    s = thinned(s);
    s.series = names.size();
    names.push_back(s.label);
  }
  Figure figure;
  figure.name = name;
  figure.title = title;
  if (names.size() > 1) figure.legend = legend(names, LegendOf::lines);
  figure.panels.push_back({"", line_chart(series, {"step", unit, {}, {}}, title)});
  return figure;
}

Series logged(const MeasuredRun& run, const std::function<std::optional<double>(const StepLine&)>& read) {
  Series series;
  for (const MetricsLine& line : read_metrics(run)) {
    const auto* step = std::get_if<StepLine>(&line);
    const std::optional<double> value = step == nullptr ? std::nullopt : read(*step);
    if (!value) continue;
    series.x.push_back(static_cast<double>(step->step));
    series.y.push_back(*value);
  }
  return series;
}

std::vector<double> steady_steps(const MeasuredRun& run) {
  const auto warmup = std::min(static_cast<std::size_t>(run.record.steady.warmup_steps), run.step_ms.size());
  return {run.step_ms.begin() + static_cast<std::ptrdiff_t>(warmup), run.step_ms.end()};
}

std::optional<MetricInfo> find_metric(const CaseGroup& group) {
  for (const PlacedCase& item : group.cases) {
    const Quality quality = measure_quality(item.ended);
    if (quality.metric) return quality.metric;
  }
  return std::nullopt;
}

std::vector<Curve> sweep_curves(const CaseGroup& group) {
  std::vector<Curve> curves = {{"loss", "Training loss", "loss", make_loss_series}};
  curves.push_back({"memory_by_step", "Memory in use by step", "MiB", make_memory_series});
  const std::optional<MetricInfo> metric = find_metric(group);
  if (!metric) return curves;
  const char* what = metric->kind == MetricKind::fraction ? " accuracy" : "";
  curves.push_back({metric->name, fmt::format("{}{} by step", metric->column(), what), metric->title,
                    [name = metric->name](const MeasuredRun& run) { return collect_metric(run, name); }});
  return curves;
}

Figure curve_figure(const CaseGroup& group, Figure figure, const Curve& curve) {
  const std::vector<CurvePanel> panels = make_panels(group, curve);
  LineAxes axes{"step", curve.unit, {}, {}};
  bool bands = false;
  for (const CurvePanel& panel : panels) {
    for (const Series& series : panel.series) {
      for (const double v : series.x) axes.x.add(v);
      for (const auto* values : {&series.y, &series.lower, &series.upper}) {
        for (const double v : *values) axes.y.add(v);
      }
      bands = bands || !series.lower.empty();
    }
  }
  if (axes.y.empty()) return {};
  if (bands) figure.notes.emplace_back("Lines: mean over the seeds. Bands: one standard deviation.");
  const bool coloured = !group.series.empty();
  if (coloured) figure.legend = legend(group.series, LegendOf::lines);
  for (const CurvePanel& panel : panels) {
    Drawing drawing;
    drawing.description = figure.title;
    if (!coloured && group.cases.size() > 1) {
      std::vector<std::string> names;
      for (const Series& series : panel.series) names.push_back(series.label);
      drawing.place(legend(names, LegendOf::lines), {0, 0});
    }
    drawing.place(line_chart(panel.series, axes, figure.title), {0, drawing.height});
    figure.panels.push_back({panel.title, std::move(drawing)});
  }
  return figure;
}

}  // namespace ptrain::html
