// Runs made up for the tests of what reads them.
#pragma once

#include "core/analysis/run_set.h"
#include "core/report/environment.h"
#include "core/report/report.h"
#include "core/yaml/load.h"
#include "tests/test_catalogs.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ptrain {

/// A metric as tasks tell it.
inline MetricValue example_metric(const std::string& name, const std::string& title, MetricKind kind,
                                  std::optional<double> value) {
  MetricValue metric;
  metric.name = name;
  metric.title = title;
  metric.kind = kind;
  metric.value = value;
  metric.higher_is_better = kind != MetricKind::amount;
  return metric;
}

/// Of a classifier.
inline Evaluation example_evaluation(double top1, std::int64_t samples = 128, double loss = 0.8) {
  Evaluation evaluation;
  evaluation.eval_samples = samples;
  evaluation.metrics = {example_metric("top1", "top-1", MetricKind::fraction, top1),
                        example_metric("top5", "top-5", MetricKind::fraction, 0.99),
                        example_metric("loss", "loss", MetricKind::amount, loss)};
  return evaluation;
}

/// With one metric alone.
inline Evaluation example_evaluation(MetricValue metric, std::int64_t samples = 128) {
  Evaluation evaluation;
  evaluation.eval_samples = samples;
  evaluation.metrics = {std::move(metric)};
  return evaluation;
}

/// A report of `steps` steps of 16 samples at `step_ms` each.
inline Report example_report(double step_ms, std::int64_t steps = 20) {
  const LoadedConfig loaded =
      parse_config("model: {name: resnet18, classes: 10}\ndata: {source: synthetic, image_size: 32, batch_size: 16}\n",
                   "example.yaml", test_catalogs());
  Report report = make_report(loaded.config);
  report.status = RunStatus::ok;
  report.environment = capture_environment({});
  report.environment.time = "2025-01-31T12:00:00Z";
  report.model = {"resnet18", 11'173'962, 3.3e9};
  report.global_batch_size = 16;
  report.progress.steps = report.progress.planned_steps = steps;
  report.progress.wall_seconds = 3;
  report.throughput = make_throughput("images/s", 16 * steps, static_cast<double>(steps) * step_ms * 1e-3, 0, 1);
  const std::vector<double> times(static_cast<std::size_t>(steps), step_ms);
  report.latency_ms = LatencyReport{summarize(times), summarize(times), summarize(times)};
  report.memory.planned_peak_bytes = 100 << 20;
  report.memory.measured_peak_bytes = 120 << 20;
  report.loss = {2.3, 1.1};
  report.evaluation = example_evaluation(0.75);
  return report;
}

/// A good run of a case, round `repeat` of one sweep.
inline MeasuredRun example_run(const std::string& case_name, std::int64_t repeat, double step_ms, double top1 = 0.75) {
  MeasuredRun run;
  run.report = example_report(step_ms);
  run.report_file = "runs/" + case_name + "/report.json";
  run.step_ms.assign(20, step_ms);
  run.record.case_name = case_name;
  run.record.repeat = repeat;
  run.record.sweep = "one";
  run.record.started = "2025-01-31T12:00:00Z";
  run.record.wall_seconds = 3 + 0.1 * static_cast<double>(repeat) + (case_name == "new" ? 0.05 : 0);
  run.record.outcome = RunOutcome::ok;
  run.record.figures = run_figures(*run.report, run.step_ms, 0);
  run.record.figures->evaluation = example_evaluation(top1);
  return run;
}

}  // namespace ptrain
