// The report's JSON Schema. Fields are only added within one version; readers ignore what they do not know.
#include "core/config/choices.h"
#include "core/config/keys.h"
#include "core/report/report.h"
#include "core/report/schema_parts.h"

namespace ptrain {
namespace {

using nlohmann::json;
using namespace schema;  // NOLINT(google-build-using-namespace): the vocabulary of this file

json environment_schema() {
  json cpu = object_of({{"model", text("")},
                        {"physical_cores", count("")},
                        {"logical_cores", count("")},
                        {"usable_cores", count("that the process may run on")},
                        {"features", {{"type", "array"}, {"items", {{"type", "string"}}}}}},
                       "processor");
  json build = object_of(
      {{"version", text("")}, {"commit", text("")}, {"compiler", text("")}, {"build_type", text("")}}, "the program");
  json noise = object_of({{"governor", typed({"string", "null"}, "frequency governor")},
                          {"load_average_1m", maybe_amount("load of the machine at the start")}},
                         "what may make figures vary");
  return object_of({{"time", text("start, UTC")},
                    {"os", text("")},
                    {"kernel", text("")},
                    {"cpu", cpu},
                    {"threads", count("compute threads of the run")},
                    {"memory_bytes", count("of the machine")},
                    {"noise", noise},
                    {"devices", {{"type", "array"}, {"items", {{"type", "object"}}}}},
                    {"libraries", {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}},
                    {"ptrain", build}},
                   "machine and software");
}

json flag_schema() {
  json flag = object_of({{"requested", typed({"boolean", "integer"}, "")},
                         {"effective", typed({"boolean", "integer"}, "")},
                         {"reason", text("why these differ; empty when they do not")}},
                        "");
  flag["properties"]["guard"] = object_of(  // not required
      {{"every_steps", count("one of so many is compared")},
       {"compared", count("batches, of all batch norms and ranks")},
       {"worst_drift",
        maybe_amount("of a channel: distance of the means in standard deviations, or relative difference "
                     "of the inverse standard deviations; null: not finite")}},
      "persistent batch norms' statistics against plain ones, where batch_norm_guard_every_steps asked for it");
  return flag;
}

json amp_schema() {
  json change = object_of({{"step", count("")}, {"scale", amount("")}}, "");
  json scaler = object_of({{"enabled", typed("boolean", "")},
                           {"dynamic", typed("boolean", "")},
                           {"scale", maybe_amount("at the end")},
                           {"skipped_steps", count("steps with an overflow")},
                           {"history", {{"type", "array"}, {"items", change}, {"description", "each change"}}}},
                          "loss scaler");
  return object_of({{"level", {{"enum", {"O0", "O1", "O2"}}}},
                    {"dtype", {{"enum", {"fp32", "bf16", "fp16"}}, {"description", "low-precision type; fp32 at O0"}}},
                    {"casts", count("cast nodes in the training graph")},
                    {"scaler", scaler}},
                   "automatic mixed precision");
}

json accuracy_schema(const std::string& description, Nullable nullable) {
  return object_of({{"top1", maybe_amount("0 to 1")},
                    {"top5", maybe_amount("null with 5 classes or fewer")},
                    {"f1", maybe_amount("of class 1; null unless two classes of text")},
                    {"loss", typed({"number", "null"}, "evaluation loss")},
                    {"eval_samples", count("")}},
                   description, nullable);
}

json evaluation_schema() {
  return object_of({{"step", count("training steps done before it")},
                    {"epoch", count("")},
                    {"seconds", amount("")},
                    {"accuracy", accuracy_schema("", Nullable::no)}},
                   "one evaluation");
}

json measured_properties() {
  return {{"throughput", object_of({{"value", amount("samples / seconds")},
                                    {"unit", text("")},
                                    {"per_device", amount("value over the number of devices")},
                                    {"samples", count("of all ranks in the measured steps")},
                                    {"seconds", amount("")},
                                    {"warmup_steps", count("first steps, left out")}},
                                   "null when no step was measured", Nullable::yes)},
          {"latency_ms", object_of({{"step", statistics("whole step")},
                                    {"reader", statistics("waiting for data")},
                                    {"compute", statistics("computing")}},
                                   "of the measured steps", Nullable::yes)},
          {"utilization", object_of({{"achieved_flops", amount("FLOP/s")},
                                     {"peak_flops", maybe_amount("FLOP/s, measured; null when the run was short")},
                                     {"mfu", maybe_amount("achieved over measured peak")},
                                     {"datasheet_peak_flops", maybe_amount("FLOP/s; null but of known GPUs")},
                                     {"datasheet_mfu", maybe_amount("achieved over the data sheet's peak")}},
                                    "use of the device's arithmetic", Nullable::yes)},
          {"memory", object_of({{"planned_peak_bytes", count("known before the first step")},
                                {"measured_peak_bytes", {{"type", {"integer", "null"}}, {"minimum", 0}}}},
                               "memory of one process, with all of its ranks")},
          {"loss", object_of({{"first", typed({"number", "null"}, "of step 1")},
                              {"last", typed({"number", "null"}, "of the last step; null when not finite")}},
                             "training loss")},
          {"accuracy", accuracy_schema("of the last evaluation; null without one", Nullable::yes)}};
}

json gpu_schema() {
  const auto range = [](const std::string& description) {
    return object_of({{"mean", number("")}, {"min", number("")}, {"max", number("")}}, description, Nullable::yes);
  };
  return object_of({{"samples", count("looks at the GPU")},
                    {"power_watts", range("")},
                    {"sm_clock_mhz", range("")},
                    {"memory_clock_mhz", range("")},
                    {"temperature_celsius", range("")},
                    {"energy_joules", maybe_amount("")},
                    {"energy_joules_per_sample", maybe_amount("of training data")},
                    {"throttled", map_of(amount("share of the looks"), "by reason")}},
                   "the GPU of rank 0 over the measured steps; only of a GPU with its management library");
}

json kernel_schema() {
  return object_of({{"op", text("")},
                    {"node", text("name in the graph")},
                    {"implementation", text("what was chosen")},
                    {"calls", count("")},
                    {"milliseconds", amount("all calls together")},
                    {"flops", amount("of one call")},
                    {"bytes", amount("of one call: every tensor once")}},
                   "time of one op; only with output.per_op");
}

json progress_schema() {
  return object_of({{"steps", count("optimizer steps done")},
                    {"planned_steps", count("")},
                    {"epochs", amount("")},
                    {"bad_samples", count("skipped because undecodable")},
                    {"wall_seconds", amount("the whole command")},
                    {"setup_seconds", amount("before the first step, search included")},
                    {"search_seconds", amount("choosing kernels")},
                    {"resumed_from", text("checkpoint; empty: none")},
                    {"checkpoint", text("newest written; empty: none")}},
                   "how far the run came");
}

json distributed_schema() {
  json rank = object_of({{"rank", count("")},
                         {"host", count("which of the run's hosts, from 0")},
                         {"samples", count("of the measured steps")},
                         {"samples_per_second", amount("if it never waited for other ranks: lower for a straggler")},
                         {"step_ms", amount("mean")},
                         {"reader_ms", amount("mean time of waiting for data")},
                         {"compute_ms", amount("mean")},
                         {"waited_ms", amount("part of compute_ms: for slower ranks and for exposed transfers")}},
                        "one rank");
  json exchange =
      object_of({{"all_reduces", amount("per step, as the following")},
                 {"bytes", amount("of the buffers")},
                 {"transfer_ms", amount("under way, from the moment all ranks were there")},
                 {"exposed_ms", amount("part of transfer_ms that computing waited for")},
                 {"overlapped", amount("1 - exposed_ms / transfer_ms")},
                 {"imbalance_ms", amount("waiting for slower ranks")},
                 {"bus_bandwidth", amount("bytes/s: 2 (n - 1) / n bytes / transfer_ms")},
                 {"peak_bus_bandwidth", maybe_amount("bytes/s with nothing beside it; null: not measured")}},
                "all-reduces as rank 0 saw them");
  return object_of({{"world_size", count("ranks")},
                    {"mode", {{"enum", {"parallel_graph", "multi_process"}}}},
                    {"engine", {{"enum", {"threads", "mpi", "nccl"}}}},
                    {"ranks", {{"type", "array"}, {"items", rank}}},
                    {"exchange", exchange}},
                   "data parallelism; null with one rank that nothing launched", Nullable::yes);
}

}  // namespace

json report_schema() {
  json properties = {{"schema", {{"const", "ptrain.report/1"}}},
                     {"status", {{"enum", {"ok", "diverged", "oom", "interrupted", "error"}}}},
                     {"message", text("why, unless ok")},
                     {"config", typed("object", "every key, resolved; `ptrain schema config` describes it")},
                     {"config_hash", text("equal for runs that do the same work")},
                     {"notes", {{"type", "array"}, {"items", {{"type", "string"}}}}},
                     {"environment", environment_schema()},
                     {"flags", {{"type", "object"}, {"additionalProperties", flag_schema()}}},
                     {"amp", amp_schema()},
                     {"model", object_of({{"name", text("")},
                                          {"parameters", count("")},
                                          {"flops_per_sample", amount("training: forward and backward")}},
                                         "")},
                     {"global_batch_size", count("samples per step of all ranks")},
                     {"progress", progress_schema()},
                     {"evaluations", {{"type", "array"}, {"items", evaluation_schema()}}},
                     {"kernels", {{"type", "array"}, {"items", kernel_schema()}}},
                     {"distributed", distributed_schema()}};
  properties.update(measured_properties());
  json schema = object_of(properties, "What one run of ptrain did.");
  schema["properties"]["gpu"] = gpu_schema();  // not required, nor are tokens
  schema["properties"]["throughput"]["properties"]["tokens"] = object_of(
      {{"valid", count("of the samples")}, {"computed", count("padding included")}}, "of text, in the measured steps");
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "ptrain.report/1";
  return schema;
}

}  // namespace ptrain
