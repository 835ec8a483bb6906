// ptrain estimate: parameters, arithmetic and memory of a run, before running it.
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/engine_compilation.h"
#include "cli/open_workload.h"
#include "cli/program_catalogs.h"
#include "cli/scaling_estimate.h"
#include "cli/step_estimate_text.h"
#include "core/base/errors.h"
#include "core/train/amp_choice.h"
#include "core/train/measure/cached_device_rates.h"
#include "core/train/options_from_config.h"
#include "core/train/plans/memory_estimate.h"
#include "core/train/plans/training_plans.h"
#include "core/train/run/start_ranks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace ptrain {
namespace {

struct EstimateOptions {
  ConfigOptions config;
  ScalingOptions scaling;
  CompilationOptions compilation;
  std::int64_t memory_bytes = 0;  // 0: what the device has
  std::int64_t samples = 0;       // per epoch, synthetic; 0: of the data
  bool json = false;
};

/// Comes before CLI::AsSizeValue, which takes "-1" too.
const CLI::Validator size_above_zero(
    [](std::string& text) {
      const std::size_t digits = text.find_first_not_of("0123456789");
      const bool above_zero = digits > 0 && text.find_first_of("123456789") < digits;
      return above_zero ? std::string() : fmt::format("expected a size above 0, such as 24GiB, got {}", text);
    },
    "");

Config load(const EstimateOptions& options) {
  std::vector<Override> overrides = options.config.overrides();
  if (options.samples > 0) {
    overrides.push_back({"data.source", "synthetic", "--samples"});
    overrides.push_back({"data.synthetic_samples", std::to_string(options.samples), "--samples"});
  }
  LoadedConfig loaded = load_config(options.config.file(), catalogs(), overrides);
  loaded.config.flags.cudnn_exhaustive_search = false;  // no kernel is timed here
  const int threads = threads_of_all(loaded.config.threads);
  loaded = with_threads(std::move(loaded), threads);
  print_notes(loaded);
  return loaded.config;
}

/// The figures of a rank that trains alone, with the variables and activations that one of dist.ranks has.
PlannedFigures plan_for_rank(PlannedFigures figures, const Config& config, DType automatic, const Workload& workload) {
  const auto estimate_for = [&](int exchanging_ranks) {
    return estimate_memory(step_options(config, *workload.model, automatic, exchanging_ranks), *workload.model,
                           config.data.batch_size, workload.backend->kernels());
  };
  const MemoryEstimate one = estimate_for(count_exchanging_ranks(config)), alone = estimate_for(0);
  const std::int64_t variables = one.variables - alone.variables;
  const bool training_needs_most = figures.arena_bytes == alone.arena;
  const std::int64_t arena = training_needs_most ? one.arena : std::max(figures.arena_bytes, one.arena);
  figures.optimizer_bytes = one.optimizer;
  figures.planned_peak_bytes += variables + arena - figures.arena_bytes;
  figures.variable_bytes += variables;
  figures.arena_bytes = arena;
  return figures;
}

void estimate(const EstimateOptions& options) {
  Config config = load(options);
  if (!options.compilation.description.empty()) {
    fmt::print("{}\n", compile_plans(config, open_data_and_model(config), options.compilation));
    return;
  }
  const Workload workload = open_workload(config);
  if (const std::string device = options.config.unavailable_device(); !device.empty()) {
    if (config.model.dynamic_table)
      fail_usage("--device: {}: model.dynamic_table is supported on device cpu only", device);
    if (!config.amp.level) config.amp.level = AmpLevel::O1;  // every known GPU is faster in low precision
    const nlohmann::json prediction = predict_on(config, workload, device, options.memory_bytes, options.scaling);
    fmt::print("{}", options.json ? prediction.dump(2) + "\n" : prediction_table(prediction));
    return;
  }
  const Ranks alone(nullptr);
  const DType preferred = workload.backend->kernels().preferred_low_precision();
  const DeviceRates rates = cached_device_rates(*workload.backend, plan_options(config).kernels);
  const AmpChoice amp = settle_amp(config, preferred, &rates, alone);
  if (!options.scaling.ranks.empty()) {
    const nlohmann::json predictions = predict_scaling(config, workload, options.scaling);
    fmt::print("{}", options.json ? predictions.dump(2) + "\n" : scaling_table(predictions));
    return;
  }
  TrainObserver silent;
  TrainingPlans plans(training_plan_options(config, *workload.model, preferred, alone), *workload.backend,
                      *workload.model, alone, nullptr, silent);
  plans.compile(*workload.training, workload.evaluation.get());
  const PlannedFigures planned = plan_for_rank(plans.figures(), config, preferred, workload);
  const std::int64_t available = options.memory_bytes > 0
                                     ? options.memory_bytes
                                     : static_cast<std::int64_t>(workload.backend->memory().available());
  const StepOptions step = step_options(config, *workload.model, preferred, count_exchanging_ranks(config));
  const std::int64_t largest = largest_batch(step, *workload.model, config.data.batch_size, workload.backend->kernels(),
                                             available - planned.workspace_bytes - planned.translator_bytes);

  const nlohmann::json summary = {{"model", workload.model->signature()},
                                  {"parameters", planned.parameters},
                                  {"batch_size", config.data.batch_size},
                                  {"amp", {{"level", enum_name(amp.level)}, {"reason", amp.reason}}},
                                  {"flops_per_sample", planned.flops_per_sample},
                                  {"bytes_per_sample", planned.bytes_per_sample},
                                  {"memory",
                                   {{"planned_peak_bytes", planned.planned_peak_bytes},
                                    {"variable_bytes", planned.variable_bytes},
                                    {"optimizer_bytes", planned.optimizer_bytes},
                                    {"activation_bytes", planned.arena_bytes},
                                    {"workspace_bytes", planned.workspace_bytes},
                                    {"input_bytes", planned.input_bytes},
                                    {"translator_bytes", planned.translator_bytes},
                                    {"table_file_bytes", planned.table_file_bytes},
                                    {"available_bytes", available}}},
                                  {"largest_batch_size", largest}};
  if (options.json) {
    fmt::print("{}\n", summary.dump(2));
    return;
  }
  const auto mib = [](std::int64_t bytes) { return fmt::format("{:>8} MiB", bytes >> 20); };
  fmt::print("model               {}\n", workload.model->signature());
  fmt::print("parameters          {:>8.2f} million\n", static_cast<double>(planned.parameters) * 1e-6);
  fmt::print("precision           {}{}\n", enum_name(amp.level), amp.reason.empty() ? "" : ": " + amp.reason);
  fmt::print("arithmetic          {:>8.2f} GFLOP per sample, forward and backward\n", planned.flops_per_sample * 1e-9);
  fmt::print("memory traffic      {:>8.1f} MB per sample, every tensor once per op\n", planned.bytes_per_sample * 1e-6);
  fmt::print("memory at batch {}{}\n", config.data.batch_size, config.dist.ranks > 1 ? ", on each rank" : "");
  fmt::print("  variables         {}  parameters, gradients, optimizer state ({} MiB)\n", mib(planned.variable_bytes),
             planned.optimizer_bytes >> 20);
  if (planned.table_file_bytes > 0) {
    fmt::print("  tables in files   {}  below {}, not in memory\n", mib(planned.table_file_bytes),
               config.train.tables.folder);
  }
  fmt::print("  activations       {}  one arena\n", mib(planned.arena_bytes));
  fmt::print("  workspace         {}\n", mib(planned.workspace_bytes));
  if (planned.translator_bytes > 0) {
    fmt::print("  translator        {}  in evaluations, by {} beam{}\n", mib(planned.translator_bytes),
               config.eval.beams, config.eval.beams == 1 ? "" : "s");
  }
  fmt::print("  process peak      {}  of {} available\n", mib(planned.planned_peak_bytes), mib(available));
  fmt::print("largest batch       {:>8}\n", largest);
}

}  // namespace

void add_estimate_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("estimate", "show parameters, FLOPs and memory of a run before running it");
  const auto options = std::make_shared<EstimateOptions>();
  options->config.add_to(*command);
  options->config.allow_unavailable_devices();
  auto* const ranks = command
                          ->add_option("--ranks", options->scaling.ranks,
                                       "numbers of ranks, such as 8,64,1024: predict their step time instead")
                          ->delimiter(',')
                          ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--memory", options->memory_bytes,
                   "memory of the device, such as 24GiB: the largest batch within it")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_above_zero)
      ->type_name("SIZE");
  command->add_option("--samples", options->samples, "samples per epoch; no data is read")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000'000}))
      ->type_name("N");
  command->add_option("--links", options->scaling.links, "with --ranks: YAML of the links' latency and bandwidth")
      ->needs(ranks);
  command
      ->add_option("--measured", options->scaling.measured,
                   "with --ranks, without --device: report of a run on one rank")
      ->needs(ranks);
  command
      ->add_option(
          "--zipf", options->scaling.zipf,
          "with --ranks: frequencies of a divided table's rows: the i-th comes in proportion to 1 / i^S; 0: all "
          "alike")
      ->needs(ranks)
      ->check(in_range(0.0, 4.0))
      ->type_name("S")
      ->capture_default_str();
  command
      ->add_option("--straggler", options->scaling.straggler,
                   "with --ranks: one of several computes that many times as long")
      ->needs(ranks)
      ->check(in_range(1.0, 1000.0))
      ->type_name("FACTOR")
      ->capture_default_str();
  auto* const compile_for =
      command
          ->add_option("--compile-for", options->compilation.description,
                       "compile cuDNN's plans for the GPU described in FILE (doctor --describe-gpu) instead")
          ->type_name("FILE");
  command->add_option("--plans", options->compilation.folder, "with --compile-for: output folder")
      ->needs(compile_for)
      ->capture_default_str()
      ->type_name("FOLDER");
  command->add_flag("--json", options->json, "print JSON")->excludes(compile_for);
  command->footer(
      "Example:\n  ptrain estimate configs/resnet50.yaml -o data.batch_size=256 --amp O1\n"
      "  ptrain estimate configs/resnet50.yaml --amp O1 --device h200    (predicted time of a step, by op, and of the "
      "training; no GPU needed)\n"
      "  ptrain estimate configs/resnet50.yaml --amp O2 --device h100 -o data.batch_size=256 -o data.image_size=224 -o "
      "train.epochs=90 --samples 1281167 --ranks 8 --links configs/links/ethernet_100g.yaml\n"
      "  ptrain estimate configs/resnet50.yaml --ranks 8,64,512 --links configs/links/ethernet_100g.yaml "
      "--measured runs/resnet50/report.json");
  command->callback([options] { estimate(*options); });
}

}  // namespace ptrain
