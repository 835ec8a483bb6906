// The parts of a report. Each figure is declared once, here; writing, reading and the schema follow from describe().
// Within one version fields are only added; readers ignore unknown ones.
#pragma once

#include "core/report/evaluation_figures.h"
#include "core/report/fields.h"
#include "core/report/statistics.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// Comparisons of persistent batch norms' statistics with plain ones.
struct GuardReport {
  std::int64_t every_steps = 0;
  std::int64_t compared = 0;
  double worst_drift = 0;  // see core/ops/math/statistics_drift.h

  void describe(Fields& field) {
    field("every_steps", every_steps, "one of this many steps is compared");
    field("compared", compared, "number of batches compared, over all batch norms and ranks");
    field.finite("worst_drift", worst_drift,
                 "largest over channels: distance of the means in standard deviations, or relative difference "
                 "of the inverse standard deviations; null: not finite");
  }
};

/// A flag as requested and in effect, with the reason where these differ.
struct FlagState {
  nlohmann::json requested;
  nlohmann::json effective;
  std::string reason;
  std::optional<GuardReport> guard;  // of persistent batch norm, if requested and anything was compared

  void describe(Fields& field) {
    field.any("requested", requested, {"boolean", "integer"}, "");
    field.any("effective", effective, {"boolean", "integer"}, "");
    field("reason", reason, "why these differ; empty: they do not");
    field.maybe("guard", guard,
                "persistent batch norms' statistics against plain ones, where batch_norm_guard_every_steps requests "
                "it");
  }
};

/// The loss scale from a step on.
struct ScaleChange {
  std::int64_t step = 0;
  double scale = 0;

  void describe(Fields& field) {
    field("step", step, "");
    field("scale", scale, "");
  }
};

struct ScalerReport {
  bool enabled = false;
  bool dynamic = false;
  double scale = 1;
  std::int64_t skipped_steps = 0;
  std::vector<ScaleChange> history;

  void describe(Fields& field) {
    field("enabled", enabled, "");
    field("dynamic", dynamic, "");
    field.finite("scale", scale, "scale at the end");
    field("skipped_steps", skipped_steps, "steps with an overflow");
    field("history", history, "every change of the scale");
  }
};

struct AmpReport {
  std::string requested = "O0";
  std::string reason = {};
  std::string level = "O0";
  std::string dtype = "fp32";
  ScalerReport scaler;
  std::int64_t casts = 0;

  void describe(Fields& field) {
    field.one_of("requested", requested, {"auto", "O0", "O1", "O2"}, "level requested by the configuration");
    field("reason", reason, "why auto chose this level and dtype; empty: nothing was auto");
    field.one_of("level", level, {"O0", "O1", "O2"}, "how much is computed in low precision");
    field.one_of("dtype", dtype, {"fp32", "bf16", "fp16"}, "low-precision type; fp32 at O0");
    field("casts", casts, "cast nodes in the training graph");
    field("scaler", scaler, "loss scaler");
  }
};

/// The rows of a dynamic table at a run's end.
struct TableReport {
  std::int64_t rows = 0, capacity = 0, evicted = 0, unadmitted = 0;
  double load = 0;

  void describe(Fields& field) {
    field("rows", rows, "rows in use, each of one category");
    field("capacity", capacity, "the most rows: model.hash_buckets");
    field("load", load, "rows in use over capacity");
    field("evicted", evicted, "rows taken from categories that had become rare, since training began");
    field("unadmitted", unadmitted, "occurrences in training of categories before they had a row: model.admit_after");
  }
};

struct ModelReport {
  std::string name;
  std::int64_t parameters = 0;
  double flops_per_sample = 0;
  std::string sample = {};
  std::vector<std::string> labels = {};
  std::optional<TableReport> table = {};

  void describe(Fields& field) {
    field("name", name, "");
    field("labels", labels, "names of the classes, by number; empty: no names");
    field("sample", sample, "kind of sample: image, clip, sequence or sample (of a table); empty: not known yet");
    field("parameters", parameters, "");
    field("flops_per_sample", flops_per_sample, "training: forward and backward");
    field.maybe("table", table, "rows of the embedding tables, with model.dynamic_table");
  }
};

/// How evaluation samples were split from the training samples.
struct SplitReport {
  double dev = 0;
  std::int64_t seed = 0;

  void describe(Fields& field) {
    field("dev", dev, "fraction of each class kept for evaluation");
    field("seed", seed, "seed that draws these samples");
  }
};

/// The data a run reads.
struct DataReport {
  std::int64_t training_samples = 0;
  std::optional<std::int64_t> evaluation_samples;
  std::optional<double> unknown_tokens;
  std::optional<SplitReport> split;

  void describe(Fields& field) {
    field("training_samples", training_samples, "");
    field("evaluation_samples", evaluation_samples, "number of evaluation samples; null: no evaluation");
    field("unknown_tokens", unknown_tokens,
          "fraction of the training text's tokens that the vocabulary lacks; null except for text read from files");
    field("split", split, "null where the data has its own evaluation samples");
  }
};

struct TokenReport {
  std::int64_t valid = 0;
  std::int64_t computed = 0;

  void describe(Fields& field) {
    field("valid", valid, "pixels or tokens of the samples");
    field("computed", computed, "the same, with padding");
  }
};

/// Samples over total time of the measured steps, not a mean of rates.
struct Throughput {
  double value = 0;
  std::string unit = "samples/s";
  double per_device = 0;
  std::int64_t samples = 0;
  double seconds = 0;
  std::int64_t warmup_steps = 0;
  std::optional<TokenReport> tokens = {};

  void describe(Fields& field) {
    field("value", value, "samples / seconds");
    field("unit", unit, "");
    field("per_device", per_device, "value over the number of devices");
    field("samples", samples, "samples of all ranks in the measured steps");
    field("seconds", seconds, "");
    field("warmup_steps", warmup_steps, "number of first steps left out");
    field.maybe("tokens", tokens, "tokens of text in the measured steps");
  }
};

/// Times of the measured steps, in ms.
struct LatencyReport {
  Statistics step, reader, compute;

  void describe(Fields& field) {
    field("step", step, "time of a step");
    field("reader", reader, "time waiting for data");
    field("compute", compute, "computing");
  }
};

struct Utilization {
  double achieved_flops = 0;
  std::optional<double> peak_flops, mfu;
  std::optional<double> datasheet_peak_flops, datasheet_mfu;

  void describe(Fields& field) {
    field("achieved_flops", achieved_flops, "FLOP/s");
    field("peak_flops", peak_flops, "measured FLOP/s; null for a short run");
    field("mfu", mfu, "achieved over measured peak");
    field("datasheet_peak_flops", datasheet_peak_flops, "FLOP/s; null except for known GPUs");
    field("datasheet_mfu", datasheet_mfu, "achieved over the data sheet's peak");
  }
};

struct RangeReport {
  double mean = 0, min = 0, max = 0;

  void describe(Fields& field) {
    field.any_sign("mean", mean, "");
    field.any_sign("min", min, "");
    field.any_sign("max", max, "");
  }
};

/// One GPU over the measured steps, from its management library; what that does not report is absent.
struct GpuReport {
  std::int64_t samples = 0;
  std::optional<RangeReport> power_watts, sm_clock_mhz, memory_clock_mhz, temperature_celsius;
  std::optional<double> energy_joules;
  std::optional<double> energy_joules_per_sample;
  std::map<std::string, double> throttled;

  void describe(Fields& field) {
    field("samples", samples, "number of sensor readings");
    field("power_watts", power_watts, "");
    field("sm_clock_mhz", sm_clock_mhz, "");
    field("memory_clock_mhz", memory_clock_mhz, "");
    field("temperature_celsius", temperature_celsius, "");
    field("energy_joules", energy_joules, "");
    field("energy_joules_per_sample", energy_joules_per_sample, "joules per training sample");
    field("throttled", throttled, "fraction of the readings, by reason");
  }
};

struct MemoryReport {
  std::int64_t planned_peak_bytes = 0;
  std::optional<std::int64_t> measured_peak_bytes;
  std::optional<std::int64_t> optimizer_bytes = {};

  void describe(Fields& field) {
    field("planned_peak_bytes", planned_peak_bytes, "planned before the first step");
    field.maybe("optimizer_bytes", optimizer_bytes, "part of it: the optimizer's moments on each rank");
    field("measured_peak_bytes", measured_peak_bytes, "null: not measured");
  }
};

/// One of several losses that are summed.
struct LossTermReport {
  double weight = 1;
  std::optional<double> first, last;

  void describe(Fields& field) {
    field.about("one of several losses");
    field.any_sign("weight", weight, "weight in the sum");
    field.any_sign("first", first, "loss at the run's first step, unweighted; null: not finite");
    field.any_sign("last", last, "loss at the last step, likewise");
  }
};

struct LossReport {
  std::optional<double> first, last;
  std::map<std::string, LossTermReport> terms = {};

  void describe(Fields& field) {
    field.any_sign("first", first, "loss at step 1");
    field.any_sign("last", last, "loss at the last step; null: not finite");
    field.maybe("terms", terms, "terms of a sum of losses, by name; absent for a single loss");
  }
};

/// What an op is in the graph of a step.
struct GraphNodeReport {
  std::string pass, amp_class, dtype;
  std::int64_t result_bytes = 0;
  std::vector<std::string> inputs;

  void describe(Fields& field) {
    field("pass", pass, "forward, recompute, backward, exchange or update");
    field("amp_class", amp_class,
          "how AMP treats ops of its kind where no list names them: white, black, extra_black, "
          "grey or keep");
    field("dtype", dtype, "of its first result");
    field("result_bytes", result_bytes, "of all its results");
    field("inputs", inputs, "the nodes whose results it reads");
  }
};

struct KernelReport {
  std::string op;
  std::string node;
  std::string implementation;
  std::int64_t calls = 0;
  double milliseconds = 0;
  double flops = 0;
  double bytes = 0;
  std::optional<GraphNodeReport> graph = {};

  void describe(Fields& field) {
    field.about("time of one op; only with output.per_op or, for few steps, output.trace");
    field("op", op, "");
    field("node", node, "name in the graph");
    field("implementation", implementation, "chosen implementation");
    field("calls", calls, "");
    field("milliseconds", milliseconds, "total of all calls");
    field("flops", flops, "FLOP of one call");
    field("bytes", bytes, "bytes of one call, each tensor counted once");
    field.maybe("graph", graph, "its place in the graph");
  }
};

/// The values of one tensor over all steps.
struct ValueRangeReport {
  std::string tensor, op, pass, dtype;
  std::optional<double> minimum, maximum;
  std::int64_t values = 0;
  double zeros = 0, above_fp16 = 0, below_fp16 = 0;
  std::int64_t not_finite = 0;

  void describe(Fields& field) {
    field.about("one tensor");
    field("tensor", tensor, "name in the graph");
    field("op", op, "that computes it");
    field("pass", pass, "forward, backward or exchange");
    field("dtype", dtype, "");
    field.any_sign("minimum", minimum, "of the finite values; null: none is");
    field.any_sign("maximum", maximum, "likewise");
    field("values", values, "number of values, over all steps");
    field("zeros", zeros, "fraction of the values");
    field("above_fp16", above_fp16, "fraction that is finite and larger than fp16 holds, 65504");
    field("below_fp16", below_fp16, "fraction that is not 0 and smaller than fp16 holds, 2^-24");
    field("not_finite", not_finite, "number of values that are infinite or not a number");
  }
};

struct NonFiniteReport {
  std::int64_t step = 0;
  std::string pass, op, tensor, value, input;

  void describe(Fields& field) {
    field.about("the first of a pass");
    field("step", step, "step, from 1");
    field("pass", pass, "forward, backward or exchange");
    field("op", op, "");
    field("tensor", tensor, "name in the graph");
    field.one_of("value", value, {"inf", "-inf", "nan"}, "");
    field("input", input, "weight or fed tensor, read by the op, that was not finite already; empty: none");
  }
};

struct NumericsReport {
  std::vector<NonFiniteReport> not_finite;
  std::vector<ValueRangeReport> tensors;

  void describe(Fields& field) {
    field("not_finite", not_finite, "the first value of each pass that is not finite; empty: all are finite");
    field("tensors", tensors, "floating-point results of the ops of rank 0, in the order of a step");
  }
};

/// Progress of a run, and where the rest of its output is.
struct ProgressReport {
  std::int64_t steps = 0;
  std::int64_t planned_steps = 0;
  double epochs = 0;
  std::int64_t bad_samples = 0;
  std::optional<std::int64_t> bad_evaluation_samples;
  std::map<std::string, std::string> unread;
  std::optional<std::int64_t> device_decoded;
  double wall_seconds = 0;
  double setup_seconds = 0;
  double search_seconds = 0;
  std::string resumed_from;
  std::string checkpoint;
  std::string ended_early;

  void describe(Fields& field) {
    field("steps", steps, "optimizer steps done");
    field("planned_steps", planned_steps, "");
    field("epochs", epochs, "");
    field("bad_samples", bad_samples, "number skipped because undecodable");
    field.maybe("bad_evaluation_samples", bad_evaluation_samples,
                "likewise in the last evaluation, which leaves them out; absent without one");
    field.maybe("unread", unread,
                "the first skipped samples, in training and in the last evaluation; absent if there are none");
    field("device_decoded", device_decoded,
          "fraction of the images loaded for training (some ahead of use) decoded by the GPU; null except with "
          "data.decoder gpu");
    field("wall_seconds", wall_seconds, "time of the whole command");
    field("setup_seconds", setup_seconds, "time before the first step, kernel search included");
    field("search_seconds", search_seconds, "time of the kernel search");
    field("resumed_from", resumed_from, "checkpoint; empty: none");
    field("checkpoint", checkpoint, "newest checkpoint; empty: none");
    field("ended_early", ended_early,
          "why fewer steps than planned were done although status is ok; empty: all were done");
  }
};

/// One phase of a training whose image size or batch size changes.
struct PhaseReport {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  ImageSize image_size;
  std::int64_t batch_size = 0;
  double lr_scale = 1;
  std::optional<double> samples_per_second = {};

  void describe(Fields& field) {
    field.about("one phase");
    field("first_step", first_step, "first step, from 1");
    field("steps", steps, "planned");
    field("image_size", image_size, "px: side of squares, or height and width; 0: data.image_size, or text");
    field("batch_size", batch_size, "batch size per rank");
    field("lr_scale", lr_scale, "factor of the schedule's learning rate");
    field("samples_per_second", samples_per_second, "over its measured steps; null: none");
  }
};

/// Absent when no time passed.
std::optional<Throughput> make_throughput(const std::string& unit, std::int64_t samples, double seconds,
                                          std::int64_t warmup_steps, int devices);
Utilization make_utilization(double achieved_flops, std::optional<double> peak_flops,
                             std::optional<double> datasheet_peak_flops);

}  // namespace ptrain
