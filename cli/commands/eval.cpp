// ptrain eval: evaluates weights or a checkpoint, without training.
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/open_workload.h"
#include "cli/run_tools.h"
#include "core/base/errors.h"
#include "core/train/run/training_run.h"

#include <cstdio>
#include <memory>

namespace ptrain {
namespace {

void eval(const ConfigOptions& options) {
  LoadedConfig loaded = options.load();
  if (loaded.config.model.weights.empty() && loaded.config.resume == "none") {
    fail_usage("eval: nothing to evaluate; give -o model.weights=FILE or --resume auto|CHECKPOINT");
  }
  if (!loaded.config.eval.any()) loaded.config.eval.every_epochs = 1;
  RunTools tools = make_run_tools(options.console());
  tools.open_workload = open_evaluation_workload;
  run_with_report(loaded, tools, OutputUse::evaluation, [](Trainer& trainer) {
    trainer.require_trained_weights();
    trainer.evaluate_now();
    trainer.write_predictions();
  });
}

}  // namespace

void add_eval_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("eval", "evaluate weights or a checkpoint");
  const auto options = std::make_shared<ConfigOptions>();
  options->add_to(*command);
  options->add_output_to(*command);
  command->footer(
      "Example:\n  ptrain eval configs/resnet50.yaml -o model.weights=runs/resnet50/model.safetensors --out "
      "runs/eval");
  command->callback([options] { eval(*options); });
}

}  // namespace ptrain
