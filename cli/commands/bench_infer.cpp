// ptrain bench infer: speed of a trained model in MLPerf's scenarios.
#include "cli/choice_option.h"
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "cli/number_range.h"
#include "cli/output_format.h"
#include "core/base/counted.h"
#include "core/base/standard_streams.h"
#include "core/infer/decoding_speed.h"
#include "core/infer/scenarios.h"
#include "core/train/measure/cached_device_rates.h"
#include "core/train/run_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

struct BenchInferArguments {
  DeployArguments deploy;
  std::string scenario = "single_stream";
  double seconds = 10;
  std::optional<double> bound;
  bool mlperf = false;
  bool per_op = false;
  bool json = false;
  // Of prefill and decode.
  std::int64_t tokens = 0, depth = 0, repeats = 5;
  std::string cache_dtype = "auto";
};

/// Prints the slowest ops of a batch, or of so many samples of it.
void show_ops(std::vector<KernelReport> ops, std::int64_t samples) {
  constexpr std::size_t most = 30;
  const auto each = [](const KernelReport& op) {
    return op.milliseconds / static_cast<double>(std::max<std::int64_t>(1, op.calls));
  };
  double all = 0;
  for (const KernelReport& op : ops) all += each(op);
  std::sort(ops.begin(), ops.end(), [&](const auto& a, const auto& b) { return each(a) > each(b); });
  fmt::print("\n{:>9}  {:>6}  {:>8}  {:<22} {}\n", "ms", "share", "GFLOP/s", "op", "node (implementation)");
  for (std::size_t i = 0; i < std::min(most, ops.size()); ++i) {
    const KernelReport& op = ops[i];
    fmt::print("{:9.3f}  {:5.1f}%  {:8.0f}  {:<22} {} ({})\n", each(op), 100 * each(op) / all,
               op.flops / each(op) * 1e-6, op.op, op.node, op.implementation);
  }
  fmt::print("{:9.3f}  all {} ops of {}\n", all, ops.size(), counted(samples, "sample"));
}

void show(const ScenarioReport& report) {
  fmt::print("{} of {}: {:.2f} ({})\n", report.scenario, report.model, report.result, report.metric);
  const bool divides = report.rows_at_once < report.batch_size;
  fmt::print("{} in {:.1f} s, {} at once{}: {:.1f}/s; latency {:.2f} ms (p50), {:.2f} (p90), {:.2f} (p99)\n",
             counted(report.samples, "sample"), report.seconds, report.batch_size,
             divides ? fmt::format(", {} in the caches", report.rows_at_once) : "", report.samples_per_second,
             report.latency_ms.p50, report.latency_ms.p90, report.latency_ms.p99);
  if (!report.early_stopping) return;
  const EarlyStopping& test = *report.early_stopping;
  if (report.bound_ms) {
    fmt::print("{} of {} queries above {:g} ms: early stopping requires {}\n", test.over.value_or(0), test.queries,
               *report.bound_ms, test.least);
  } else if (test.estimate_ms) {
    fmt::print("p{:.0f} by early stopping: {:.2f} ms\n", 100 * test.percentile, *test.estimate_ms);
  } else {
    fmt::print("early stopping requires {} queries\n", test.least);
  }
}

double to_mega(double bytes) { return bytes * 1e-6; }

void show(const DecodingReport& report) {
  fmt::print("{} of {}, {} at once: {:.1f} ± {:.1f} tokens/s\n", report.name, report.model,
             counted(report.batch_size, "text"), report.tokens_per_second, report.stdev);
  fmt::print("first token after {:.2f} ms (p50)", report.first_token_ms.p50);
  if (report.token_ms.count > 0) {
    fmt::print(", each other after {:.2f} ms (p50), {:.2f} (p99)", report.token_ms.p50, report.token_ms.p99);
  }
  const DecodingBound& bound = report.bound;
  fmt::print("\na step reads {:.1f} MB of weights and {:.1f} MB of {} keys and values, and does {:.2f} GFLOP",
             to_mega(bound.weight_bytes), to_mega(bound.cache_bytes), report.cache_dtype, bound.flops * 1e-9);
  if (bound.tokens_per_second) {
    fmt::print(": at most {:.1f} tokens/s ({:.0f} % reached)", *bound.tokens_per_second,
               100 * report.tokens_per_second / *bound.tokens_per_second);
  }
  fmt::print("\n");
}

DecodingRates find_rates(Backend& backend, const DeployOptions& options) {
  const DeviceRates rates = cached_device_rates(backend, options.kernels);
  const bool low = options.amp.level != AmpLevel::O0;
  const PrecisionRates& precision = !low ? rates.fp32 : options.amp.dtype == DType::bf16 ? rates.bf16 : rates.fp16;
  return {rates.memory_bandwidth, precision.product, rates.int8.product};
}

/// A language model's speed, with one text at once unless --batch says otherwise.
void bench_decoding(const BenchInferArguments& arguments, Scenario scenario, const LoadedModel& opened) {
  const bool writes = scenario == Scenario::decode;
  if (opened.trained.data.kind != DataKind::tokens) {
    fail_usage("--scenario: {} needs a language model; {} is a model of {}", arguments.scenario, arguments.deploy.model,
               opened.task->name());
  }
  constexpr std::int64_t read_tokens = 512, written_tokens = 128;
  DecodingSpeedOptions requested{.writes = writes, .depth = arguments.depth, .repeats = arguments.repeats};
  requested.tokens = arguments.tokens > 0 ? arguments.tokens : writes ? written_tokens : read_tokens;
  requested.vocabulary = opened.trained.data.vocab_size;
  const std::int64_t length = requested.depth + requested.tokens, most = opened.trained.data.max_length;
  if (length > most) {
    fail_usage(
        "--tokens: expected at most {} with --depth {}, got {}: the model reads {} tokens (data.max_length of its "
        "training)",
        std::max<std::int64_t>(most - requested.depth, 0), requested.depth, requested.tokens, most);
  }
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = arguments.deploy.deploy_options(opened, *backend);
  options.max_length = writes ? std::max<std::int64_t>(requested.depth, 1) : length;
  options.cache = CacheOptions{length, cache_dtype(options.amp, arguments.cache_dtype)};
  options.per_op = arguments.per_op;
  TextDecoder decoder(*backend, *opened.model, *opened.task, opened.trained.weights(), options);
  DecodingReport report = measure_decoding(decoder, requested, find_rates(*backend, options));
  report.model = opened.trained.folder.string();
  report.device = backend->name();
  report.precision = arguments.deploy.amp;
  report.weights = arguments.deploy.weights;
  report.cache_dtype = to_string(options.cache->dtype);
  if (arguments.per_op) report.kernels = kernel_reports(decoder.model().last_plan().profile());
  if (arguments.json) return print_document(report);
  show(report);
  if (arguments.per_op) show_ops(report.kernels, report.batch_size);
}

void bench_infer(const BenchInferArguments& arguments) {
  const Scenario scenario = parse_choice<Scenario>("--scenario", arguments.scenario);
  const LoadedModel opened = arguments.deploy.open();
  if (is_decoding(scenario)) return bench_decoding(arguments, scenario, opened);
  if (opened.task->translates()) {
    fail_usage("{}: translates, which ptrain bench infer does not measure; ptrain infer prints its speed",
               arguments.deploy.model);
  }
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = arguments.deploy.deploy_options(opened, *backend);
  options.batch_size = query_samples(scenario, options.batch_size);
  options.per_op = arguments.per_op;
  Predictor ready(*backend, *opened.model, *opened.task, opened.trained.weights(), options);
  const DataKind kind = opened.trained.data.kind;
  ScenarioOptions requested = arguments.mlperf ? mlperf_options(scenario, kind)
                                               : ScenarioOptions{.scenario = scenario, .seconds = arguments.seconds};
  requested.bound_ms = arguments.bound.value_or(default_bound_ms(kind));
  ScenarioReport report = run_scenario(ready, opened.trained.data, requested, [](double rate, bool held) {
    print_error_line(fmt::format("{:.1f} samples/s: {}", rate, held ? "within the bound" : "too many late"));
  });
  report.model = opened.trained.folder.string();
  report.device = backend->name();
  report.precision = arguments.deploy.amp;
  if (arguments.per_op) report.kernels = kernel_reports(ready.profile());
  if (arguments.json) return print_document(report);
  show(report);
  if (arguments.per_op) show_ops(report.kernels, report.rows_at_once);
}

}  // namespace

void add_bench_infer_command(CLI::App& program) {
  CLI::App* command =
      program.get_subcommand("bench")->add_subcommand("infer", "measure the inference speed of a trained model");
  const auto arguments = std::make_shared<BenchInferArguments>();
  arguments->deploy.add_to(*command);
  command
      ->add_option("--scenario", arguments->scenario,
                   "MLPerf's: one sample at a time, eight at a time, at random times, or all at once; of a language "
                   "model llama-bench's: reading texts, or writing them token by token")
      ->capture_default_str()
      ->type_name("single_stream|multi_stream|server|offline|prefill|decode");
  command
      ->add_option("--seconds", arguments->seconds,
                   "least duration, with at least 100 samples; for server, of each rate that holds")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--bound", arguments->bound,
                   "server: bound of the p99 latency in ms; default 15 for images, 130 for texts")
      ->check(in_range(1e-3, 1e9))
      ->type_name("MS");
  command->add_flag("--mlperf", arguments->mlperf, "use MLPerf's least durations and samples");
  command->add_flag("--per-op", arguments->per_op, "time every op, with little overhead, and print the slowest");
  command->add_flag("--json", arguments->json, "print JSON");
  const char* group = "Prefill and decode";
  const auto most = std::int64_t{1'000'000};
  command->add_option("--tokens", arguments->tokens, "tokens of a text, read (default 512) or written (128)")
      ->check(CLI::Range(std::int64_t{1}, most))
      ->group(group);
  command->add_option("--depth", arguments->depth, "tokens of each text before these")
      ->check(CLI::Range(std::int64_t{0}, most))
      ->capture_default_str()
      ->group(group);
  command->add_option("--repeats", arguments->repeats, "repetitions")
      ->check(CLI::Range(std::int64_t{1}, most))
      ->capture_default_str()
      ->group(group);
  add_cache_option(*command, arguments->cache_dtype)->group(group);
  command->footer(
      "Example:\n  ptrain bench infer runs/resnet50 --scenario offline --batch 64\n"
      "  ptrain bench infer runs/resnet50 --scenario server --bound 100\n"
      "  ptrain bench infer runs/llama --scenario decode --depth 512");
  command->callback([arguments, batch = command->get_option("--batch")] {
    if (arguments->scenario == "prefill" || arguments->scenario == "decode") {
      if (batch->count() == 0) arguments->deploy.batch = 1;  // as llama-bench
    }
    bench_infer(*arguments);
  });
}

}  // namespace ptrain
