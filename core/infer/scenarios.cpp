#include "core/infer/scenarios.h"

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/infer/server_scenario.h"

namespace ptrain {

void ScenarioReport::describe(Fields& field) {
  field.document("ptrain.bench-infer/1", "Speed of a trained model's inference.");
  field("scenario", scenario, "as defined by MLPerf Inference");
  field("model", model, "folder of the model");
  field("device", device, "backend");
  field("precision", precision, "AMP level");
  field("batch_size", batch_size, "samples computed at once; at most, for server");
  field("rows_at_once", rows_at_once,
        "samples of a batch that all ops compute before the next ones: fewer where caches then hold what they pass on");
  field("samples", samples, "number of samples answered");
  field("queries", queries, "number of queries");
  field("seconds", seconds, "time from the first query to the last answer");
  field("samples_per_second", samples_per_second, "samples over seconds");
  field("latency_ms", latency_ms, "latency of a query");
  field("bound_ms", bound_ms, "bound on latencies, for server");
  field("early_stopping", early_stopping, "MLPerf's test of a percentile; null for offline");
  field("metric", metric, "metric that the scenario measures");
  field("result", result, "value of the metric");
  field("kernels", kernels, "ops of the last plan used; only with --per-op");
}

namespace {

constexpr double mlperf_seconds = 600;
constexpr std::int64_t mlperf_queries = 1024, mlperf_offline_samples = 24'576;
constexpr std::int64_t multi_stream_samples = 8;
constexpr double single_stream_percentile = 0.9, multi_stream_percentile = 0.99;

}  // namespace

double default_bound_ms(DataKind kind) { return kind == DataKind::image ? 15 : 130; }

ScenarioOptions mlperf_options(Scenario scenario, DataKind kind) {
  ScenarioOptions options{scenario, mlperf_seconds, mlperf_queries, default_bound_ms(kind)};
  if (scenario == Scenario::offline) options.samples = mlperf_offline_samples;
  if (scenario == Scenario::multi_stream) {
    options.samples = multi_stream_samples * least_queries(1, multi_stream_percentile);
  }
  return options;
}

std::int64_t query_samples(Scenario scenario, std::int64_t batch) {
  if (scenario == Scenario::single_stream) return 1;
  return scenario == Scenario::multi_stream ? multi_stream_samples : batch;
}

namespace {

void run_server(Predictor& model, const DatasetInfo& data, const ScenarioOptions& options, const RateTried& tried,
                ScenarioReport& report) {
  std::map<std::int64_t, Batch> batches;  // by rows
  const auto answer = [&](std::int64_t count) {
    Batch& batch = batches.at(model.rows_for(count));
    batch.count = count;
    model.run(batch);
  };
  for (std::int64_t count = 1; count <= model.most(); ++count) {
    const std::int64_t rows = model.rows_for(count);
    if (!batches.try_emplace(rows, make_synthetic_batch(data, rows)).second) continue;
    for (int i = 0; i < 2; ++i) answer(rows);
  }
  const Arrivals arrivals = find_server_rate({answer, model.most()}, options, tried);
  report.seconds = arrivals.seconds;
  report.samples = report.queries = arrivals.held.queries;
  report.latency_ms = summarize(arrivals.latencies);
  report.bound_ms = options.bound_ms;
  report.early_stopping = arrivals.held;
  report.metric = "samples/s, p99 latency within the bound";
  report.result = arrivals.rate;
}

void run_queries(Predictor& model, const DatasetInfo& data, const ScenarioOptions& options, ScenarioReport& report) {
  Batch batch = make_synthetic_batch(data, model.most());
  for (int i = 0; i < 2; ++i) model.run(batch);
  std::vector<double> latencies;
  const Stopwatch watch;
  while (watch.seconds() < options.seconds || report.samples < options.samples) {
    InterruptibleWork::check(fmt::format("after {} queries", latencies.size()));
    const Stopwatch query;
    model.run(batch);
    latencies.push_back(query.seconds() * 1e3);
    report.samples += batch.count;
  }
  report.seconds = watch.seconds();
  report.queries = static_cast<std::int64_t>(latencies.size());
  report.latency_ms = summarize(latencies);
  if (options.scenario == Scenario::offline) {
    report.metric = "samples/s";
    report.result = static_cast<double>(report.samples) / report.seconds;
    return;
  }
  const bool single = options.scenario == Scenario::single_stream;
  report.metric = single ? "p90 latency, ms" : "p99 latency of 8 samples, ms";
  report.result = single ? report.latency_ms.p90 : report.latency_ms.p99;
  report.early_stopping = estimate_percentile(latencies, single ? single_stream_percentile : multi_stream_percentile);
}

}  // namespace

ScenarioReport run_scenario(Predictor& model, const DatasetInfo& data, const ScenarioOptions& options,
                            const RateTried& tried) {
  const InterruptibleWork interruptible;
  ScenarioReport report;
  if (options.scenario == Scenario::server) {
    run_server(model, data, options, tried, report);
  } else {
    run_queries(model, data, options, report);
  }
  report.scenario = enum_name(options.scenario);
  report.batch_size = model.most();
  report.rows_at_once = model.rows_at_once();
  report.samples_per_second = static_cast<double>(report.samples) / report.seconds;
  return report;
}

}  // namespace ptrain
