// The report of one run, `ptrain.report/2`: filled in as the run goes, valid at any moment, so that a run that fails
// still leaves a report that says so.
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
  std::optional<DataReport> data;  // once it is open
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
  std::optional<DistributedReport> distributed;

  void describe(Fields& field);
};

/// A report with config, hash and the requested flags filled in (effective as requested until told otherwise).
Report make_report(const Config& config);

/// As it is written; parsing it gives the report back.
nlohmann::json to_json(const Report& report);

/// The report's JSON Schema (draft 2020-12).
nlohmann::json report_schema();

/// Checks to_json(report) against the schema and writes it, indented, whole or not at all; folders are made as needed.
/// Throws Error{failed} naming the path when it cannot be written.
void write_report(const Report& report, const std::filesystem::path& path, Flush flush = Flush::yes);

/// A report, also one from before or after fields were added: what it has must fit the schema of its version, and what
/// ptrain's own readers need must be there. One of version 1 is read as if it were of version 2. Throws as
/// read_document does.
Report read_report(const std::filesystem::path& path);

/// Where a configuration's echo has the key.
nlohmann::json::json_pointer pointer_to(const Key& key);

/// The configuration that the report echoes; keys that it lacks have their defaults.
Config restore_config(const Report& report);

/// "O1 (bf16)": what was taken.
std::string precision_text(const AmpReport& amp);

/// What samples are; older reports do not say it of their model, but in their throughput's unit.
DataKind reads(const Report& report);

}  // namespace ptrain
