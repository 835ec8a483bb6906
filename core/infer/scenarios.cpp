#include "core/infer/scenarios.h"

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/signals.h"

namespace ptrain {

void ScenarioReport::describe(Fields& field) {
  field.document("ptrain.bench-infer/1", "How fast a trained model answers.");
  field("scenario", scenario, "as MLPerf Inference defines it");
  field("model", model, "its folder");
  field("device", device, "backend");
  field("precision", precision, "AMP level");
  field("batch_size", batch_size, "samples of a query; 1 in single_stream");
  field("samples", samples, "that were answered");
  field("queries", queries, "that they came in");
  field("seconds", seconds, "from the first query to the last answer");
  field("samples_per_second", samples_per_second, "samples over seconds");
  field("latency_ms", latency_ms, "of a query");
  field("metric", metric, "what the scenario is judged by");
  field("result", result, "its value");
}

namespace {

constexpr double mlperf_seconds = 600;
constexpr std::int64_t mlperf_queries = 1024, mlperf_offline_samples = 24'576;

Batch made_up_batch(const DatasetInfo& data, std::int64_t rows) {
  Batch batch;
  batch.count = rows;
  const RandomStream random{1, 0, 0};
  const auto fill = [&](auto& values, std::int64_t each, std::uint32_t below) {
    values.resize(static_cast<std::size_t>(rows * each));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::remove_reference_t<decltype(values[i])>>(random.bits(i) % below);
    }
  };
  if (data.kind == DataKind::image) {
    fill(batch.pixels, std::int64_t{3} * data.image_size * data.image_size, 256);
  } else {
    fill(batch.ids, data.max_length, static_cast<std::uint32_t>(data.vocab_size));
    fill(batch.token_types, data.max_length, 1);
    batch.lengths.assign(static_cast<std::size_t>(rows), data.max_length);
  }
  batch.labels.resize(static_cast<std::size_t>(rows));
  return batch;
}

}  // namespace

ScenarioOptions mlperf_options(Scenario scenario) {
  return {scenario, mlperf_seconds, scenario == Scenario::offline ? mlperf_offline_samples : mlperf_queries};
}

ScenarioReport run_scenario(DeployedModel& model, const DatasetInfo& data, const ScenarioOptions& options) {
  const InterruptibleWork interruptible;
  const Batch batch = made_up_batch(data, model.batch_size());
  for (int i = 0; i < 2; ++i) model.run(batch);
  ScenarioReport report;
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
  report.scenario = choice_name(options.scenario);
  report.batch_size = model.batch_size();
  report.queries = static_cast<std::int64_t>(latencies.size());
  report.samples_per_second = static_cast<double>(report.samples) / report.seconds;
  report.latency_ms = summarize(latencies);
  const bool offline = options.scenario == Scenario::offline;
  report.metric = offline ? "samples/s" : "p90 latency, ms";
  report.result = offline ? report.samples_per_second : report.latency_ms.p90;
  return report;
}

}  // namespace ptrain
