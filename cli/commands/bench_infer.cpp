// ptrain bench infer: how fast a trained model answers, by MLPerf's scenarios.
#include "cli/choice_option.h"
#include "cli/commands.h"
#include "cli/output_format.h"
#include "cli/trained_model.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/infer/scenarios.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

struct BenchInferArguments {
  DeployArguments deploy;
  std::string scenario = "single_stream";
  double seconds = 10;
  bool mlperf = false;
  bool json = false;
};

void show(const ScenarioReport& report) {
  fmt::print("{} of {}: {:.2f} ({})\n", report.scenario, report.model, report.result, report.metric);
  fmt::print("{} in {:.1f} s, {} at once: {:.1f}/s; latency {:.2f} ms (p50), {:.2f} (p90), {:.2f} (p99)\n",
             counted(report.samples, "sample"), report.seconds, report.batch_size, report.samples_per_second,
             report.latency_ms.p50, report.latency_ms.p90, report.latency_ms.p99);
}

void bench_infer(const BenchInferArguments& arguments) {
  const Scenario scenario = choice_of<Scenario>("--scenario", arguments.scenario);
  const OpenedModel opened = open_model(arguments.deploy.model);
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = arguments.deploy.deploy_options(opened, *backend);
  if (scenario == Scenario::single_stream) options.batch_size = 1;
  DeployedModel ready(*backend, *opened.model, opened.trained.weights(), options);
  ScenarioReport report =
      run_scenario(ready, opened.trained.data,
                   arguments.mlperf ? mlperf_options(scenario) : ScenarioOptions{scenario, arguments.seconds});
  report.model = opened.trained.folder.string();
  report.device = backend->name();
  report.precision = arguments.deploy.amp;
  if (arguments.json) return print_document(report);
  show(report);
}

}  // namespace

void add_bench_infer_command(CLI::App& program) {
  CLI::App* command = program.get_subcommand("bench")->add_subcommand("infer", "how fast a trained model answers");
  const auto arguments = std::make_shared<BenchInferArguments>();
  arguments->deploy.add_to(*command);
  command->add_option("--scenario", arguments->scenario, "MLPerf's: one sample after the other, or all at hand")
      ->capture_default_str()
      ->type_name("single_stream|offline");
  command->add_option("--seconds", arguments->seconds, "at least so long, and 100 samples")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_flag("--mlperf", arguments->mlperf, "MLPerf's least durations and samples instead");
  command->add_flag("--json", arguments->json, "print JSON");
  command->footer("Example:\n  ptrain bench infer runs/resnet50 --scenario offline --batch 64");
  command->callback([arguments] { bench_infer(*arguments); });
}

}  // namespace ptrain
