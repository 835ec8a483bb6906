// ptrain bench infer: speed of a trained model in MLPerf's scenarios.
#include "cli/choice_option.h"
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "cli/output_format.h"
#include "core/base/counted.h"
#include "core/base/standard_streams.h"
#include "core/infer/scenarios.h"
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
};

/// Prints the slowest ops of one batch.
void show_ops(std::vector<KernelReport> ops) {
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
  fmt::print("{:9.3f}  all {} ops of a batch\n", all, ops.size());
}

void show(const ScenarioReport& report) {
  fmt::print("{} of {}: {:.2f} ({})\n", report.scenario, report.model, report.result, report.metric);
  fmt::print("{} in {:.1f} s, {} at once: {:.1f}/s; latency {:.2f} ms (p50), {:.2f} (p90), {:.2f} (p99)\n",
             counted(report.samples, "sample"), report.seconds, report.batch_size, report.samples_per_second,
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

void bench_infer(const BenchInferArguments& arguments) {
  const Scenario scenario = parse_choice<Scenario>("--scenario", arguments.scenario);
  const LoadedModel opened = open_model(arguments.deploy.model, arguments.deploy.adapter);
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = arguments.deploy.deploy_options(opened, backend->kernels().preferred_low_precision());
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
  if (arguments.per_op) show_ops(report.kernels);
}

}  // namespace

void add_bench_infer_command(CLI::App& program) {
  CLI::App* command =
      program.get_subcommand("bench")->add_subcommand("infer", "measure the inference speed of a trained model");
  const auto arguments = std::make_shared<BenchInferArguments>();
  arguments->deploy.add_to(*command);
  command
      ->add_option("--scenario", arguments->scenario,
                   "MLPerf's: one sample at a time, eight at a time, at random times, or all at once")
      ->capture_default_str()
      ->type_name("single_stream|multi_stream|server|offline");
  command
      ->add_option("--seconds", arguments->seconds,
                   "least duration, with at least 100 samples; for server, of each rate that holds")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--bound", arguments->bound,
                   "server: bound of the p99 latency in ms; default 15 for images, 130 for texts")
      ->check(CLI::Range(1e-3, 1e9))
      ->type_name("MS");
  command->add_flag("--mlperf", arguments->mlperf, "use MLPerf's least durations and samples");
  command->add_flag("--per-op", arguments->per_op, "time every op, with little overhead, and print the slowest");
  command->add_flag("--json", arguments->json, "print JSON");
  command->footer(
      "Example:\n  ptrain bench infer runs/resnet50 --scenario offline --batch 64\n"
      "  ptrain bench infer runs/resnet50 --scenario server --bound 100");
  command->callback([arguments] { bench_infer(*arguments); });
}

}  // namespace ptrain
