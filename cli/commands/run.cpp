// ptrain run: trains as configured and writes a report.
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/run_tools.h"
#include "core/train/run/training_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace ptrain {
namespace {

void run(const ConfigOptions& options) {
  const LoadedConfig loaded = options.load();
  run_with_report(loaded, make_run_tools(options.console()), OutputUse::training, [&](Trainer& trainer) {
    trainer.train();
    const OutputConfig& output = loaded.config.output;
    if (trainer.result().status != RunStatus::ok || !output.save) return;
    trainer.export_model(output.dir);
  });
}

}  // namespace

void add_run_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("run", "train, evaluate and write a report");
  const auto options = std::make_shared<ConfigOptions>();
  options->add_to(*command);
  options->add_output_to(*command);
  command->footer(
      "Example:\n  ptrain run configs/resnet50.yaml --amp O2 -o data.batch_size=128 --out runs/resnet50-o2");
  command->callback([options] { run(*options); });
}

}  // namespace ptrain
