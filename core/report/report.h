// The report of one run, `ptrain.report/2`: filled in during the run and valid at any moment, so that a failed run
// leaves a report too.
#pragma once

#include "core/base/data_kind.h"
#include "core/config/config.h"
#include "core/config/keys.h"
#include "core/io/atomic_file.h"
#include "core/report/distributed_figures.h"
#include "core/report/environment.h"
#include "core/report/figures.h"
#include "core/report/run_status.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

struct Report {
  RunStatus status = RunStatus::error;  // until the run says otherwise
  std::string message;
  nlohmann::json config;  // to_json(config)
  std::string config_hash;
  std::vector<std::string> notes;
  EnvironmentReport environment;
  std::map<std::string, FlagState> flags;
  AmpReport amp;
  ModelReport model;
  std::optional<DataReport> data;  // once the data is open
  std::int64_t global_batch_size = 0;
  ProgressReport progress;
  std::vector<PhaseReport> phases;
  std::optional<Throughput> throughput;
  std::optional<LatencyReport> latency_ms;
  std::optional<Utilization> utilization;
  std::optional<GpuReport> gpu;
  MemoryReport memory;
  LossReport loss;
  std::optional<Evaluation> evaluation;
  std::optional<ClassificationReport> classification;
  std::vector<EvaluationReport> evaluations;
  std::optional<BestReport> best;
  std::optional<TargetReport> time_to_accuracy;
  std::vector<KernelReport> kernels;
  std::optional<NumericsReport> numerics;
  std::optional<DistributedReport> distributed;

  void describe(Fields& field);
};

/// A report with config, hash and the requested flags filled in (in effect as requested unless changed later).
Report make_report(const Config& config);

/// Converts to JSON, from which the report can be parsed.
nlohmann::json to_json(const Report& report);

/// The report's JSON Schema (draft 2020-12).
nlohmann::json report_schema();

/// Checks to_json(report) against the schema and writes it, indented and atomically; creates folders as needed. Throws
/// Error{failed} naming the path when it cannot be written.
void write_report(const Report& report, const std::filesystem::path& path, Flush flush = Flush::yes);

/// Reads a report, also one written before or after fields were added: its fields must fit the schema of its version,
/// and those that ptrain's own readers need must be present. Version 1 is upgraded to version 2. Throws as
/// read_document does.
Report read_report(const std::filesystem::path& path);

/// JSON pointer of the key in a configuration's echo.
nlohmann::json::json_pointer pointer_to(const Key& key);

/// The configuration that the report echoes; missing keys have their defaults.
Config restore_config(const Report& report);

/// "O1 (bf16)": the level and dtype in effect.
std::string precision_text(const AmpReport& amp);

/// The kind of sample; older reports have it only in their throughput's unit.
DataKind reads(const Report& report);

}  // namespace ptrain
