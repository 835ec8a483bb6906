#include "core/report/report.h"

#include "core/config/keys.h"
#include "core/report/json_file.h"

#include <algorithm>

namespace ptrain {

using nlohmann::json;

std::optional<Throughput> make_throughput(const std::string& unit, std::int64_t samples, double seconds,
                                          std::int64_t warmup_steps, int devices) {
  if (seconds <= 0) return std::nullopt;
  const double value = static_cast<double>(samples) / seconds;
  return Throughput{value, unit, value / devices, samples, seconds, warmup_steps, {}};
}

Utilization make_utilization(double achieved_flops, std::optional<double> peak_flops,
                             std::optional<double> datasheet_peak_flops) {
  const auto compute_share = [&](std::optional<double> peak) {
    return peak && *peak > 0 ? std::optional(achieved_flops / *peak) : std::nullopt;
  };
  return {achieved_flops, peak_flops, compute_share(peak_flops), datasheet_peak_flops,
          compute_share(datasheet_peak_flops)};
}

/// For scripts that read a metric by its name alone, as in version 1.
static json plain_values(const std::optional<Evaluation>& evaluation) {
  if (!evaluation) return nullptr;
  json values{{"eval_samples", evaluation->eval_samples}};
  for (const MetricValue& metric : evaluation->metrics)
    values[metric.name] = metric.value ? json(*metric.value) : json();
  return values;
}

void Report::describe(Fields& field) {
  field.document("ptrain.report/2", "Report of one run of ptrain.");
  field.choice("status", status, RunStatus::error, "how the run ended");
  field("message", message, "reason, unless ok");
  field.any("config", config, "object", "every key, resolved; `ptrain schema config` describes it");
  field("config_hash", config_hash, "equal for runs that do the same work");
  field("notes", notes, "notes on the configuration and the run");
  field("environment", environment, "machine and software");
  field("flags", flags, "by name");
  field("amp", amp, "automatic mixed precision");
  field("model", model, "");
  field.maybe("data", data, "data read; absent where it was not opened");
  field("global_batch_size", global_batch_size, "samples per step over all ranks");
  field("progress", progress, "progress of the run");
  field("phases", phases, "phases with different image or batch sizes; empty: only one");
  field("throughput", throughput, "null: no step was measured");
  field("latency_ms", latency_ms, "times of the measured steps");
  field("utilization", utilization, "use of the device's arithmetic");
  field.maybe("gpu", gpu, "the GPU of rank 0 over the measured steps; only for a GPU with its management library");
  field("memory", memory, "memory of one process, with all of its ranks");
  field("loss", loss, "training loss");
  field("evaluation", evaluation, "last evaluation; null: none");
  json plain = plain_values(evaluation);
  field.maybe_any("accuracy", plain, "object", "values of `evaluation` by name; absent without one");
  field.maybe("classification", classification, "metrics of each class at the last evaluation; absent without one");
  field("evaluations", evaluations, "all evaluations, in order");
  field.maybe("best", best, "best evaluation, if output.keep_best keeps its weights");
  field.maybe("time_to_accuracy", time_to_accuracy, "only with train.target");
  field("kernels", kernels, "in the order of a step");
  field.maybe("numerics", numerics, "values that training computed; only with output.numerics");
  field("distributed", distributed, "data parallelism; null for one rank without a launcher");
}

Report make_report(const Config& config) {
  Report report;
  report.config = to_json(config);
  report.config_hash = config_hash(config);
  report.amp.requested = report.config.at("amp").at("level").get<std::string>();
  for (const auto& [name, value] : report.config.at("flags").items()) report.flags[name] = {value, value, "", {}};
  return report;
}

json to_json(const Report& report) { return write_fields(report); }

json report_schema() { return schema_of_fields<Report>(); }

void write_report(const Report& report, const std::filesystem::path& path, Flush flush) {
  write_document(report, path, flush);
}

std::string precision_text(const AmpReport& amp) { return fmt::format("{} ({})", amp.level, amp.dtype); }

json::json_pointer pointer_to(const Key& key) {
  std::string path = "/" + key.name;
  std::replace(path.begin(), path.end(), '.', '/');
  return json::json_pointer(path);
}

Config restore_config(const Report& report) {
  Config config;
  for (const Key& key : all_keys()) {
    const json::json_pointer pointer = pointer_to(key);
    if (report.config.contains(pointer)) key.set(config, report.config.at(pointer));
  }
  return config;
}

DataKind reads(const Report& report) {
  for (const DataKind kind : {DataKind::table, DataKind::video}) {
    if (report.model.sample == sample_name(kind)) return kind;
  }
  const bool is_text = !report.model.sample.empty() ? report.model.sample == "sequence"
                       : report.throughput          ? report.throughput->unit == "sequences/s"
                                                    : !restore_config(report).data.vocab.empty();
  return is_text ? DataKind::text : DataKind::image;
}

}  // namespace ptrain
