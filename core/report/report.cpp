#include "core/report/report.h"

#include "core/config/keys.h"
#include "core/report/json_file.h"

#include <cmath>

namespace ptrain {
namespace {

using nlohmann::json;

/// Null when absent or not finite: JSON has no NaN.
json finite(std::optional<double> value) { return value && std::isfinite(*value) ? json(*value) : json(nullptr); }

template <typename T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json flag_json(const FlagState& flag) {
  json content{{"requested", flag.requested}, {"effective", flag.effective}, {"reason", flag.reason}};
  if (flag.guard) {
    content["guard"] = {{"every_steps", flag.guard->every_steps},
                        {"compared", flag.guard->compared},
                        {"worst_drift", finite(flag.guard->worst_drift)}};
  }
  return content;
}

json amp_json(const AmpReport& amp) {
  json history = json::array();
  for (const auto& [step, scale] : amp.scaler.history) history.push_back({{"step", step}, {"scale", scale}});
  return {{"level", amp.level},
          {"dtype", amp.dtype},
          {"casts", amp.casts},
          {"scaler",
           {{"enabled", amp.scaler.enabled},
            {"dynamic", amp.scaler.dynamic},
            {"scale", finite(amp.scaler.scale)},
            {"skipped_steps", amp.scaler.skipped_steps},
            {"history", history}}}};
}

json throughput_json(const std::optional<Throughput>& throughput) {
  if (!throughput || throughput->seconds <= 0) return nullptr;
  const double value = static_cast<double>(throughput->samples) / throughput->seconds;
  json written = {{"value", value},
                  {"unit", throughput->unit},
                  {"per_device", value / throughput->devices},
                  {"samples", throughput->samples},
                  {"seconds", throughput->seconds},
                  {"warmup_steps", throughput->warmup_steps}};
  if (const auto& tokens = throughput->tokens) {
    written["tokens"] = {{"valid", tokens->valid}, {"computed", tokens->computed}};
  }
  return written;
}

json utilization_json(const std::optional<Utilization>& utilization) {
  if (!utilization) return nullptr;
  const double achieved = utilization->achieved_flops;
  const auto of = [&](std::optional<double> peak) {
    return peak && *peak > 0 ? json(achieved / *peak) : json(nullptr);
  };
  return {{"achieved_flops", achieved},
          {"peak_flops", or_null(utilization->peak_flops)},
          {"mfu", of(utilization->peak_flops)},
          {"datasheet_peak_flops", or_null(utilization->datasheet_peak_flops)},
          {"datasheet_mfu", of(utilization->datasheet_peak_flops)}};
}

json range_json(const std::optional<RangeReport>& range) {
  if (!range) return nullptr;
  return {{"mean", range->mean}, {"min", range->min}, {"max", range->max}};
}

json gpu_json(const GpuReport& gpu) {
  return {{"samples", gpu.samples},
          {"power_watts", range_json(gpu.power_watts)},
          {"sm_clock_mhz", range_json(gpu.sm_clock_mhz)},
          {"memory_clock_mhz", range_json(gpu.memory_clock_mhz)},
          {"temperature_celsius", range_json(gpu.temperature_celsius)},
          {"energy_joules", or_null(gpu.energy_joules)},
          {"energy_joules_per_sample", or_null(gpu.energy_joules_per_sample)},
          {"throttled", gpu.throttled}};
}

json accuracy_json(const std::optional<AccuracyReport>& accuracy) {
  if (!accuracy) return nullptr;
  return {{"top1", finite(accuracy->top1)},
          {"top5", finite(accuracy->top5)},
          {"f1", finite(accuracy->f1)},
          {"loss", finite(accuracy->loss)},
          {"eval_samples", accuracy->eval_samples}};
}

json progress_json(const ProgressReport& progress) {
  return {{"steps", progress.steps},
          {"planned_steps", progress.planned_steps},
          {"epochs", progress.epochs},
          {"bad_samples", progress.bad_samples},
          {"wall_seconds", progress.wall_seconds},
          {"setup_seconds", progress.setup_seconds},
          {"search_seconds", progress.search_seconds},
          {"resumed_from", progress.resumed_from},
          {"checkpoint", progress.checkpoint}};
}

json evaluations_json(const std::vector<EvaluationReport>& evaluations) {
  json list = json::array();
  for (const EvaluationReport& e : evaluations) {
    list.push_back(
        {{"step", e.step}, {"epoch", e.epoch}, {"seconds", e.seconds}, {"accuracy", accuracy_json(e.accuracy)}});
  }
  return list;
}

json kernels_json(const std::vector<KernelReport>& kernels) {
  json list = json::array();
  for (const KernelReport& k : kernels) {
    list.push_back({{"op", k.op},
                    {"node", k.node},
                    {"implementation", k.implementation},
                    {"calls", k.calls},
                    {"milliseconds", k.milliseconds},
                    {"flops", k.flops},
                    {"bytes", k.bytes}});
  }
  return list;
}

json distributed_json(const std::optional<DistributedReport>& distributed) {
  if (!distributed) return nullptr;
  json ranks = json::array();
  for (const RankReport& r : distributed->ranks) {
    ranks.push_back({{"rank", ranks.size()},
                     {"host", r.host},
                     {"samples", r.samples},
                     {"samples_per_second", r.samples_per_second},
                     {"step_ms", r.step_ms},
                     {"reader_ms", r.reader_ms},
                     {"compute_ms", r.compute_ms},
                     {"waited_ms", r.waited_ms}});
  }
  const ExchangeReport& e = distributed->exchange;
  return {{"world_size", distributed->world_size},
          {"mode", distributed->mode},
          {"engine", distributed->engine},
          {"ranks", ranks},
          {"exchange",
           {{"all_reduces", e.all_reduces},
            {"bytes", e.bytes},
            {"transfer_ms", e.transfer_ms},
            {"exposed_ms", e.exposed_ms},
            {"overlapped", e.overlapped},
            {"imbalance_ms", e.imbalance_ms},
            {"bus_bandwidth", e.bus_bandwidth},
            {"peak_bus_bandwidth", or_null(e.peak_bus_bandwidth)}}}};
}

}  // namespace

Report make_report(const Config& config) {
  Report report;
  report.config = to_json(config);
  report.config_hash = config_hash(config);
  for (const auto& [name, value] : report.config.at("flags").items()) report.flags[name] = {value, value, "", {}};
  return report;
}

json to_json(const Report& report) {
  json flags = json::object();
  for (const auto& [name, flag] : report.flags) flags[name] = flag_json(flag);
  json latency = nullptr;
  if (report.latency_ms) {
    latency = {{"step", report.latency_ms->step},
               {"reader", report.latency_ms->reader},
               {"compute", report.latency_ms->compute}};
  }
  json document{{"schema", "ptrain.report/1"},
                {"status", name_of(report.status)},
                {"message", report.message},
                {"config", report.config},
                {"config_hash", report.config_hash},
                {"notes", report.notes},
                {"environment", report.environment},
                {"flags", flags},
                {"amp", amp_json(report.amp)},
                {"model",
                 {{"name", report.model.name},
                  {"parameters", report.model.parameters},
                  {"flops_per_sample", report.model.flops_per_sample}}},
                {"global_batch_size", report.global_batch_size},
                {"progress", progress_json(report.progress)},
                {"throughput", throughput_json(report.throughput)},
                {"latency_ms", latency},
                {"utilization", utilization_json(report.utilization)},
                {"memory",
                 {{"planned_peak_bytes", report.memory.planned_peak_bytes},
                  {"measured_peak_bytes", or_null(report.memory.measured_peak_bytes)}}},
                {"loss", {{"first", finite(report.loss.first)}, {"last", finite(report.loss.last)}}},
                {"accuracy", accuracy_json(report.accuracy)},
                {"evaluations", evaluations_json(report.evaluations)},
                {"kernels", kernels_json(report.kernels)},
                {"distributed", distributed_json(report.distributed)}};
  if (report.gpu) document["gpu"] = gpu_json(*report.gpu);
  return document;
}

void write_report(const Report& report, const std::filesystem::path& path, Flush flush) {
  write_document(to_json(report), report_schema(), path, flush);
}

}  // namespace ptrain
