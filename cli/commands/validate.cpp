// ptrain validate: checks a configuration, and the data, vocabulary and weights it names, without running it.
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/open_workload.h"
#include "cli/program_catalogs.h"
#include "core/base/counted.h"
#include "core/base/standard_streams.h"
#include "core/bench/sweep.h"
#include "core/config/keys.h"
#include "core/io/atomic_file.h"
#include "core/io/weights_file.h"
#include "core/train/data_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace ptrain {
namespace {

struct ValidateOptions {
  ConfigOptions config;
  bool show = false;
  bool json = false;
};

/// Opens the data, vocabulary and weights of a run. Prints notes on the data, and returns a line describing it.
std::string check_files(LoadedConfig loaded) {
  const Workload workload = open_data_and_model(loaded.config);
  if (!loaded.config.model.weights.empty()) WeightsFile(loaded.config.model.weights);
  const DataFindings found =
      examine_data(loaded.config.data, loaded.config.seed, *workload.training, workload.evaluation.get());
  for (const std::string& note : found.notes) print_error_line("note: " + note);
  const DatasetInfo& data = workload.training->info();
  const std::string form = data.kind == DataKind::tokens ? fmt::format("blocks of {} tokens", data.max_length)
                           : learns(data.targets, tensor_names::values)
                               ? "values"
                               : fmt::format("{} classes", loaded.config.model.classes);
  return fmt::format("{} training and {} evaluation samples, {}", found.report.training_samples,
                     found.report.evaluation_samples.value_or(0), form);
}

/// Whether the file is a suite; what cannot be parsed is reported by its reader.
bool names_suite(const std::string& file) {
  std::error_code error;
  return std::filesystem::is_regular_file(file, error) && is_suite(parse_yaml(read_file(file), file));
}

void validate_suite(const ConfigOptions& config) {
  const Suite suite = load_suite(config.file(), catalogs(), config.overrides());
  fmt::print("{}: ok, a suite of {}, {} each\n", config.file(), counted(suite.cases.size(), "case"),
             counted(suite.repeats, "repeat"));
  for (const BenchCase& item : suite.cases) fmt::print("  {}\n", item.name);
  for (const std::string& line : shortages(suite)) print_error_line("note: " + line);
}

void validate(const ValidateOptions& options) {
  if (names_suite(options.config.file())) return validate_suite(options.config);
  const LoadedConfig loaded = options.config.load();
  print_notes(loaded);
  if (options.json) {
    fmt::print("{}\n", to_json(loaded.config).dump(2));
    return;
  }
  if (options.show) {
    for (const Key& key : config_keys()) {
      fmt::print("{:<44} {:<28} {}\n", key.name, key.get(loaded.config).dump(), loaded.origins.at(key.name));
    }
  }
  const std::string data = check_files(loaded);
  fmt::print("{}: ok, {}; {}\n", loaded.file, config_hash(loaded.config), data);
}

}  // namespace

void add_validate_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "validate", "check a configuration and the files it names, or a suite, without running it");
  const auto options = std::make_shared<ValidateOptions>();
  options->config.add_to(*command);
  command->add_flag("--show", options->show, "print every key, its value and the origin of the value");
  command->add_flag("--json", options->json, "print the resolved configuration as JSON, and check no files");
  command->footer(
      "Example:\n  ptrain validate configs/resnet50.yaml -o train.optimizer.lr=0.1 --show\n"
      "  ptrain validate configs/bench/ci_smoke.yaml");
  command->callback([options] { validate(*options); });
}

}  // namespace ptrain
