// Speed of a deployed model in the scenarios of MLPerf Inference (Reddi et al., "MLPerf Inference Benchmark", 2020, and
// LoadGen since version 1.1). single_stream sends one sample, multi_stream eight, when the previous query is answered;
// they report the 90th and 99th percentile of query latency. server sends samples at random times (a Poisson process)
// and reports the highest rate at which 99 of 100 latencies stay within a bound. offline has all samples at the start
// and reports samples over time.
#pragma once

#include "core/base/enums.h"
#include "core/infer/early_stopping.h"
#include "core/report/figures.h"
#include "core/report/statistics.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/predictor.h"

#include <functional>

namespace ptrain {

/// The last two are no MLPerf scenarios: see decoding_speed.h.
enum class Scenario { single_stream, multi_stream, server, offline, prefill, decode };
inline bool is_decoding(Scenario scenario) { return scenario == Scenario::prefill || scenario == Scenario::decode; }
template <>
struct EnumNames<Scenario> {
  static constexpr std::array<std::string_view, 6> names{"single_stream", "multi_stream", "server",
                                                         "offline",       "prefill",      "decode"};
};

struct ScenarioOptions {
  Scenario scenario = Scenario::single_stream;
  double seconds = 10;         // least duration
  std::int64_t samples = 100;  // least number of samples
  double bound_ms = 0;         // server only
};

/// MLPerf's least duration and number of samples, with default_bound_ms as the bound.
ScenarioOptions mlperf_options(Scenario scenario, DataKind kind);
/// MLPerf's latency bound for server in ms: 15 for images (its ResNet-50), 130 for texts (its BERT).
double default_bound_ms(DataKind kind);
/// Samples of a query, computed at once: 1, 8 or `batch` (for offline; at most, for server).
std::int64_t query_samples(Scenario scenario, std::int64_t batch);

/// `ptrain.bench-infer/1`.
struct ScenarioReport {
  std::string scenario, model, device, precision;
  std::int64_t batch_size = 0, rows_at_once = 0, samples = 0, queries = 0;
  double seconds = 0, samples_per_second = 0;
  Statistics latency_ms;
  std::optional<double> bound_ms;
  std::optional<EarlyStopping> early_stopping;
  std::string metric;
  double result = 0;
  std::vector<KernelReport> kernels;

  void describe(Fields& field);
};

/// Reports a step of the search for server's rate: the rate tried in samples/s, and whether the bound held.
using RateTried = std::function<void(double rate, bool held)>;

/// Runs the scenario on synthetic inputs, of full length for texts, after two warm-up batches. Throws Interrupted, and
/// Error{failed} for server if not even single samples keep the bound.
ScenarioReport run_scenario(Predictor& model, const DatasetInfo& data, const ScenarioOptions& options,
                            const RateTried& tried);

}  // namespace ptrain
