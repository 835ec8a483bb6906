#include "core/analysis/html/run_figures.h"

#include "core/analysis/html/curve_figures.h"
#include "core/analysis/html/graph_figure.h"
#include "core/analysis/op_times.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain::html {
namespace {

Series labelled(Series series, const std::string& label) {
  series.label = label;
  return series;
}

/// A metric of every evaluation that has it.
Series evaluated(const Report& report, const MetricInfo& metric, const std::string& label) {
  Series series{label, {}, {}};
  for (const EvaluationReport& one : report.evaluations) {
    const MetricValue* found = one.evaluation.find(metric.name);
    if (found == nullptr || !found->value) continue;
    series.x.push_back(static_cast<double>(one.step));
    series.y.push_back(*found->value);
  }
  return series;
}

/// The metrics on the same scale as the primary one, and the title of their figure.
Figure metric_curves(const Report& report) {
  std::vector<Series> series;
  const MetricValue* primary = report.evaluation ? report.evaluation->primary() : nullptr;
  if (primary == nullptr) return {};
  for (const MetricValue& metric : report.evaluation->metrics) {
    const bool fits = metric.name == primary->name || (primary->is_bounded() && metric.is_bounded());
    if (fits && metric.kind != MetricKind::reference) series.push_back(evaluated(report, metric, metric.title));
  }
  const std::string axis = series.size() > 1 ? "score" : primary->title;
  return draw_curves("accuracy", primary->is_bounded() ? "Accuracy" : primary->column(), axis, std::move(series));
}

/// The loss of every evaluation, if it is among the metrics.
Series evaluated_loss(const Report& report) {
  MetricInfo loss;
  loss.name = "loss";
  return evaluated(report, loss, "evaluation");
}

/// Loss scale over the steps, from the scaler's history.
Series loss_scale(const Report& report) {
  Series series;
  const auto add = [&](double step, double scale) {
    series.x.push_back(step);
    series.y.push_back(scale);
  };
  for (const ScaleChange& change : report.amp.scaler.history) {
    if (!series.y.empty()) add(static_cast<double>(change.step), series.y.back());
    add(static_cast<double>(change.step), change.scale);
  }
  if (!series.y.empty()) add(static_cast<double>(report.progress.steps), series.y.back());
  return series;
}

/// The bytes in use and, where it is known, the planned peak, in MiB.
std::vector<Series> memory(Series resident, std::int64_t planned_bytes) {
  constexpr double mib = 1 << 20;
  if (resident.x.empty()) return {};
  for (double& bytes : resident.y) bytes /= mib;
  std::vector<Series> series{labelled(std::move(resident), "in use")};
  if (planned_bytes == 0) return series;
  const double planned = static_cast<double>(planned_bytes) / mib;
  series.push_back({"planned peak", {series[0].x.front(), series[0].x.back()}, {planned, planned}});
  return series;
}

Figure step_times(const MeasuredRun& run) {
  std::vector<double> times = steady_steps(run);
  if (times.empty()) return {};
  Figure figure;
  figure.name = "step_time";
  figure.title = "Step time after warm-up";
  figure.panels.push_back({"", distribution_chart({{"", std::move(times)}}, "ms", figure.title)});
  return figure;
}

Figure roofline(const Report& report) {
  const std::vector<OpTime> ops = op_times(report);
  const std::optional<Roof> roof = make_roofline(report);
  if (ops.empty() || !roof) return {};
  double all = 0;
  for (const OpTime& op : ops) all += op.milliseconds;
  std::vector<RooflinePoint> points;
  std::vector<std::string> names;
  for (const OpTime& op : ops) {
    if (op.flops <= 0 || op.bytes <= 0 || points.size() == series_inks) continue;
    names.push_back(fmt::format("{}: {:.1f} %", op.op, 100 * op.milliseconds / all));
    points.push_back({names.back(), op.flops / op.bytes, op.flops / op.milliseconds * 1e3});
  }
  Figure figure;
  figure.name = "roofline";
  figure.title = "Ops under the roofline, and their share of a step";
  figure.legend = legend(names, LegendOf::points);
  figure.panels.push_back({"", roofline_chart(points, *roof, figure.title)});
  figure.notes.emplace_back(
      roof->bandwidth ? "The line shows the peak and the memory bandwidth measured on this device."
                      : "The line shows the peak measured on this device; its memory bandwidth was not measured.");
  if (roof->raised) {
    figure.notes.emplace_back(
        "An op reached more: the line is raised to it. Its data fit in caches, or the machine was busy when its rates "
        "were measured.");
  }
  return figure;
}

}  // namespace

const MeasuredRun* single_run(std::span<const RunSet> sets) {
  if (sets.size() != 1 || sets[0].cases.size() != 1 || sets[0].cases[0].runs.size() != 1) return nullptr;
  const MeasuredRun& run = sets[0].cases[0].runs[0];
  return run.report ? &run : nullptr;
}

std::vector<Figure> progress_figures(const RunProgress& progress, const std::string& unit) {
  std::vector<Series> metric;
  Series evaluated_loss;
  MetricInfo primary;
  primary.title = progress.primary_title();
  for (const auto& [name, series] : progress.evaluations) {
    if (name == progress.primary()) metric.push_back(series);
    if (name == "loss") evaluated_loss = labelled(series, "evaluation");
  }
  std::vector<Figure> figures = {
      draw_curves("loss", "Loss", "loss", {labelled(progress.loss, "training"), evaluated_loss}),
      draw_curves("accuracy", primary.column(), primary.title, std::move(metric)),
      draw_curves("throughput", "Throughput", unit, {progress.throughput}),
      draw_curves("learning_rate", "Learning rate", "learning rate", {progress.learning_rate}),
      draw_curves("memory", "Memory", "MiB", memory(progress.memory, 0))};
  std::erase_if(figures, [](const Figure& figure) { return figure.panels.empty(); });
  return figures;
}

std::vector<Figure> run_figures(const MeasuredRun& run) {
  const Report& report = *run.report;
  const std::string unit = report.throughput ? report.throughput->unit : "samples/s";
  RunProgress logged;
  for (const MetricsLine& line : read_metrics(run)) logged.add(line);
  std::vector<Figure> figures = {
      draw_curves("loss", "Loss", "loss", {labelled(logged.loss, "training"), evaluated_loss(report)}),
      metric_curves(report),
      draw_curves("throughput", "Throughput", unit, {logged.throughput}),
      step_times(run),
      draw_curves("learning_rate", "Learning rate", "learning rate", {logged.learning_rate}),
      draw_curves("loss_scale", "Loss scale", "loss scale", {loss_scale(report)}),
      draw_curves("memory", "Memory", "MiB", memory(logged.memory, report.memory.planned_peak_bytes)),
      roofline(report),
      draw_graph(report)};
  std::erase_if(figures, [](const Figure& figure) { return figure.panels.empty(); });
  return figures;
}

}  // namespace ptrain::html
