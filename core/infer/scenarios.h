// How fast a deployed model answers, by the definitions of MLPerf Inference (Reddi et al., "MLPerf Inference
// Benchmark", 2020, and LoadGen's since version 1.1). single_stream asks for one sample, multi_stream for eight when
// the ones before are answered, and they count the 90th and 99th percentile of a query's latency. server asks for
// samples at random times (a Poisson process) and counts the highest rate at which 99 of 100 latencies stay within a
// bound. offline has all samples at hand, and counts samples over time.
#pragma once

#include "core/base/enums.h"
#include "core/infer/early_stopping.h"
#include "core/report/figures.h"
#include "core/report/statistics.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/predictor.h"

#include <functional>

namespace ptrain {

enum class Scenario { single_stream, multi_stream, server, offline };
template <>
struct EnumNames<Scenario> {
  static constexpr std::array<std::string_view, 4> names{"single_stream", "multi_stream", "server", "offline"};
};

struct ScenarioOptions {
  Scenario scenario = Scenario::single_stream;
  double seconds = 10;         // at least
  std::int64_t samples = 100;  // at least
  double bound_ms = 0;         // of server
};

/// MLPerf's least duration, and its least number of samples. The bound is default_bound_ms's.
ScenarioOptions mlperf_options(Scenario scenario, DataKind kind);
/// Milliseconds that MLPerf allows a server: 15 for images (its ResNet-50), 130 for texts (its BERT).
double default_bound_ms(DataKind kind);
/// Samples of a query, which are computed at once: 1, 8 or, of server at most and of offline, `batch`.
std::int64_t query_samples(Scenario scenario, std::int64_t batch);

/// `ptrain.bench-infer/1`.
struct ScenarioReport {
  std::string scenario, model, device, precision;
  std::int64_t batch_size = 0, samples = 0, queries = 0;
  double seconds = 0, samples_per_second = 0;
  Statistics latency_ms;
  std::optional<double> bound_ms;
  std::optional<EarlyStopping> early_stopping;
  std::string metric;
  double result = 0;
  std::vector<KernelReport> kernels;

  void describe(Fields& field);
};

/// Tells a step of the search for server's rate: samples/s that were tried, and whether they were held.
using RateTried = std::function<void(double rate, bool held)>;

/// Runs the scenario on made-up inputs, of full length where they are texts, after two batches that are not counted.
/// Throws Interrupted; of server Error{failed} where not even single samples keep the bound.
ScenarioReport run_scenario(Predictor& model, const DatasetInfo& data, const ScenarioOptions& options,
                            const RateTried& tried);

}  // namespace ptrain
