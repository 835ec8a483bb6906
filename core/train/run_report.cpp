#include "core/train/run_report.h"

#include "core/comm/bench.h"
#include "core/config/config_enums.h"
#include "core/passes/amp.h"
#include "core/train/amp_choice.h"
#include "core/train/options_from_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

void set_flag(FlagState& flag, nlohmann::json effective, std::string reason) {
  flag.effective = std::move(effective);
  flag.reason = std::move(reason);
}

void fill_flags(Report& report, const Config& config, const KernelLibrary& library, const RunResult& result) {
  std::vector<KernelRecord> kernels;
  for (const NodeProfile& node : result.kernels) kernels.push_back(node.record);
  auto [search, persistent, workspace, fp8] = library.effects(plan_options(config).kernels, kernels);
  if (search.value) search.reason += fmt::format("; choices {}", result.search_hash);
  set_flag(report.flags["cudnn_exhaustive_search"], search.value, search.reason);
  set_flag(report.flags["cudnn_batchnorm_spatial_persistent"], persistent.value, persistent.reason);
  if (result.batch_norm_guard) {
    report.flags["cudnn_batchnorm_spatial_persistent"].guard = GuardReport{
        config.batch_norm_guard_every_steps, result.batch_norm_guard->compared, result.batch_norm_guard->worst_drift};
  }
  set_flag(report.flags["conv_workspace_size_limit"], workspace.value >> 20, workspace.reason);
  set_flag(report.flags["fp8"], fp8.value, fp8.reason);
}

/// `amp` with the effects in the run.
AmpReport amp_report(AmpReport amp, const Config& config, const KernelLibrary& kernels, const RunResult& result) {
  amp.level = enum_name(config.amp.level.value());
  if (config.amp.level != AmpLevel::O0) {
    const DType dtype = training_options(config, kernels.preferred_low_precision()).amp.dtype;
    amp.dtype = enum_name(to_amp_dtype(dtype));
  }
  amp.casts = result.amp.casts;
  amp.scaler.enabled = result.loss_scaling;
  amp.scaler.dynamic = result.loss_scaling && config.amp.scaler.dynamic;
  amp.scaler.skipped_steps = result.skipped_steps;
  amp.scaler.history = result.scale_history;
  if (!result.scale_history.empty()) amp.scaler.scale = result.scale_history.back().scale;
  return amp;
}

void fill_speed(Report& report, const Model& model, const RunResult& result) {
  if (result.step_ms.empty()) return;
  const int devices = std::max(1, static_cast<int>(result.ranks.size()));
  report.throughput =
      make_throughput(report.model.sample + "s/s", result.samples, result.seconds, result.warmup_steps, devices);
  if (report.throughput && model.is_text())
    report.throughput->tokens = TokenReport{result.tokens.valid, result.tokens.computed};
  report.latency_ms =
      LatencyReport{summarize(result.step_ms), summarize(result.reader_ms), summarize(result.compute_ms)};
  const auto of_all = [&](std::optional<double> peak) { return peak ? std::optional(*peak * devices) : std::nullopt; };
  report.utilization =  // peaks were measured with all devices at work
      make_utilization(result.flops / result.seconds, of_all(result.peak_flops), of_all(result.datasheet_peak_flops));
}

RankReport rank_report(const RankTotals& totals, double steps) {
  RankReport rank;
  rank.host = totals.host;
  rank.samples = std::llround(totals.samples);
  const double own_seconds = totals.step_seconds - totals.waited_seconds;
  rank.samples_per_second = own_seconds > 0 ? totals.samples / own_seconds : 0;
  rank.step_ms = totals.step_seconds / steps * 1e3;
  rank.reader_ms = totals.reader_seconds / steps * 1e3;
  rank.compute_ms = totals.compute_seconds / steps * 1e3;
  rank.waited_ms = totals.waited_seconds / steps * 1e3;
  return rank;
}

/// Skipped for a training with a single phase.
void fill_phases(Report& report, const RunResult& result) {
  report.phases.clear();
  if (result.phases.size() == 1) return;
  for (std::size_t i = 0; i < result.phases.size(); ++i) {
    const TrainingStage& phase = result.phases[i];
    const PhaseTotals measured = i < result.by_phase.size() ? result.by_phase[i] : PhaseTotals{};
    PhaseReport one{phase.first_step + 1, phase.steps, phase.images.size, phase.batch_size, phase.lr_scale, {}};
    if (measured.seconds > 0) one.samples_per_second = static_cast<double>(measured.samples) / measured.seconds;
    report.phases.push_back(one);
  }
}

void fill_distributed(Report& report, const RunResult& result) {
  if (!result.exchanged || result.exchanged->steps == 0) return;
  const Exchanged& exchanged = *result.exchanged;
  const auto steps = static_cast<double>(exchanged.steps);
  DistributedReport distributed;
  distributed.world_size = static_cast<int>(result.ranks.size());
  distributed.engine = exchanged.engine;
  distributed.mode = exchanged.engine == "threads" ? "parallel_graph" : "multi_process";
  for (const RankTotals& totals : result.ranks) {
    distributed.ranks.push_back(rank_report(totals, steps));
    distributed.ranks.back().rank = static_cast<std::int64_t>(distributed.ranks.size()) - 1;
  }
  const ExchangeTimes& times = exchanged.times;
  ExchangeReport& exchange = distributed.exchange;
  exchange.all_reduces = static_cast<double>(times.all_reduces) / steps;
  exchange.bytes = times.bytes / steps;
  exchange.transfer_ms = times.transfer_seconds / steps * 1e3;
  exchange.exposed_ms = times.exposed_seconds / steps * 1e3;
  exchange.imbalance_ms = std::max(0.0, times.waited_seconds - times.exposed_seconds) / steps * 1e3;
  if (times.transfer_seconds > 0) {
    exchange.overlapped = std::max(0.0, 1.0 - times.exposed_seconds / times.transfer_seconds);
    exchange.bus_bandwidth = bus_factor(distributed.world_size) * times.bytes / times.transfer_seconds;
  }
  exchange.peak_bus_bandwidth = exchanged.peak_bus_bandwidth;
  report.distributed = std::move(distributed);
}

NumericsReport numerics_report(const Numerics& numerics) {
  NumericsReport report;
  for (const auto& [pass, first] : numerics.not_finite) {
    const std::string value = std::isnan(first.value) ? "nan" : first.value > 0 ? "inf" : "-inf";
    report.not_finite.push_back({first.step, phase_name(pass), first.op, first.tensor, value, first.input});
  }
  for (const ValueRange& range : numerics.ranges) {
    const auto fraction = [&](std::int64_t count) {
      return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, range.values));
    };
    const bool any = range.values > range.not_finite;
    report.tensors.push_back({range.tensor, range.op, phase_name(range.phase), std::string(to_string(range.dtype)),
                              any ? std::optional(range.minimum) : std::nullopt,
                              any ? std::optional(range.maximum) : std::nullopt, range.values, fraction(range.zeros),
                              fraction(range.above_f16), fraction(range.below_f16), range.not_finite});
  }
  return report;
}

}  // namespace

void fill_report(Report& report, const Config& config, const KernelLibrary& kernels, const Model& model,
                 const RunResult& result) {
  report.status = result.status;
  report.message = result.message;
  fill_flags(report, config, kernels, result);
  report.amp = amp_report(report.amp, config, kernels, result);
  report.model = {model.name(), result.parameters, result.flops_per_sample, model.sample()};
  report.model.table = result.table;
  report.global_batch_size = config.data.batch_size * config.train.accumulate_steps * config.dist.ranks;
  report.progress.steps = result.first_step + result.steps;
  report.progress.planned_steps = result.total_steps;
  if (result.total_steps > 0) report.progress.epochs = result.epochs(report.progress.steps);
  report.progress.bad_samples = result.bad_samples.count;
  report.progress.unread.clear();
  if (result.bad_samples.count > 0) report.progress.unread["training"] = result.bad_samples.text("training");
  report.progress.device_decoded = result.device_decoded;
  report.progress.setup_seconds = result.setup_seconds;
  report.progress.search_seconds = result.search_seconds;
  report.progress.resumed_from = result.resumed_from;
  report.progress.checkpoint = result.checkpoint;
  report.progress.ended_early = result.ended_early;
  report.best = result.best;
  report.time_to_accuracy = result.target;
  fill_speed(report, model, result);
  fill_phases(report, result);
  fill_distributed(report, result);
  report.environment.noise.others = result.other_load;
  report.gpu = result.gpu;
  if (report.gpu && report.gpu->energy_joules && !result.ranks.empty() && result.ranks[0].samples > 0) {
    report.gpu->energy_joules_per_sample = *report.gpu->energy_joules / result.ranks[0].samples;
  }
  report.memory.planned_peak_bytes = result.planned_peak_bytes;
  report.memory.optimizer_bytes = result.optimizer_bytes;
  if (result.measured_peak_bytes > 0) report.memory.measured_peak_bytes = result.measured_peak_bytes;
  report.loss = {result.first_loss, result.last_loss};
  for (const auto& [name, term] : result.loss_terms) {
    report.loss.terms[name] = {double{result.loss_weights.at(name)}, term.first, term.last};
  }
  report.evaluations.clear();
  for (const EvalResult& evaluated : result.evaluations) {
    report.evaluations.push_back({evaluated.step, evaluated.epoch, evaluated.evaluation, evaluated.seconds});
  }
  if (!result.evaluations.empty()) {
    const BadSamples& bad = result.evaluations.back().bad_samples;
    report.progress.bad_evaluation_samples = bad.count;
    if (bad.count > 0) report.progress.unread["evaluation"] = bad.text("evaluation");
    report.evaluation = result.evaluations.back().evaluation;
    report.classification = result.evaluations.back().classes;
  }
  report.kernels = kernel_reports(result.kernels);
  if (result.numerics) report.numerics = numerics_report(*result.numerics);
}

std::vector<KernelReport> kernel_reports(std::span<const NodeProfile> profile) {
  std::vector<KernelReport> reports;
  for (const NodeProfile& node : profile) {
    reports.push_back({node.type, node.name, node.record.implementation, node.runs, node.seconds * 1e3, node.cost.flops,
                       node.cost.bytes,
                       GraphNodeReport{phase_name(node.phase), std::string(to_string(node.amp_class)),
                                       std::string(to_string(node.dtype)), node.result_bytes, node.inputs}});
  }
  return reports;
}

}  // namespace ptrain
