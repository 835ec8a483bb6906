// How fast a deployed model answers, by the definitions of MLPerf Inference (Reddi et al., "MLPerf Inference
// Benchmark", 2020): single_stream asks for one sample when the one before is answered, and counts the 90th percentile
// of latency; offline has all samples at hand, and counts samples over time.
#pragma once

#include "core/base/choices.h"
#include "core/infer/deployed_model.h"
#include "core/report/statistics.h"
#include "core/train/state/trained_model.h"

namespace ptrain {

enum class Scenario { single_stream, offline };
template <>
struct Choices<Scenario> {
  static constexpr std::array<std::string_view, 2> names{"single_stream", "offline"};
};

struct ScenarioOptions {
  Scenario scenario = Scenario::single_stream;
  double seconds = 10;         // at least
  std::int64_t samples = 100;  // at least
};

/// MLPerf's least duration, and its least number of queries (single_stream) or samples (offline).
ScenarioOptions mlperf_options(Scenario scenario);

/// `ptrain.bench-infer/1`.
struct ScenarioReport {
  std::string scenario, model, device, precision;
  std::int64_t batch_size = 0, samples = 0, queries = 0;
  double seconds = 0, samples_per_second = 0;
  Statistics latency_ms;
  std::string metric;
  double result = 0;

  void describe(Fields& field);
};

/// Runs the scenario on made-up inputs, of full length where they are texts, after two batches that are not counted.
/// Throws Interrupted.
ScenarioReport run_scenario(DeployedModel& model, const DatasetInfo& data, const ScenarioOptions& options);

}  // namespace ptrain
