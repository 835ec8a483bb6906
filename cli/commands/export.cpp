// ptrain export: writes a trained model as a folder or ONNX file that is independent of its run.
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "core/base/errors.h"
#include "core/cpu/cpu_backend.h"
#include "core/deploy/onnx/onnx.h"
#include "core/io/folder_lock.h"
#include "models/model_registry.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

struct ExportArguments {
  std::string model;
  std::string out;
  std::string format = "ptrain";
};

/// Exports with a dynamic sequence length, so that texts are padded, not packed.
std::filesystem::path export_onnx(const LoadedModel& opened, const std::filesystem::path& folder) {
  Config config = opened.trained.config;
  config.data.padding = Padding::max_length;
  const std::unique_ptr<Model> model = make_model(config, opened.trained.data);
  const std::unique_ptr<Backend> backend = cpu::make_backend();
  DeployOptions options;
  options.kernels.exhaustive_search = false;
  options.max_length = opened.trained.data.max_length;
  DeployedModel deployed(*backend, *model, *opened.task, opened.trained.weights(), options);
  const FolderLock lock(folder);
  write_onnx(folder / "model.onnx", deployed, opened.trained);
  return folder / "model.onnx";
}

void export_model(const ExportArguments& arguments) {
  const bool onnx = arguments.format == "onnx";
  if (!onnx && arguments.format != "ptrain") {
    fail_usage("--format: expected ptrain|onnx, got \"{}\"", arguments.format);
  }
  const LoadedModel opened = open_model(arguments.model);
  std::filesystem::path written = arguments.out;
  if (onnx) {
    require_images_or_sentences(opened.trained, "--format onnx does not support");
    written = export_onnx(opened, arguments.out);
  } else {
    copy_trained_model(opened.trained, arguments.out);
  }
  fmt::print("model: {}\n", written.string());
}

}  // namespace

void add_export_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("export", "write a trained model independent of its run");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("MODEL", arguments->model, "folder of a run, or the run's configuration")->required();
  command->add_option("--out", arguments->out, "folder to write")->required()->type_name("DIR");
  command
      ->add_option("--format", arguments->format,
                   "ptrain: model.safetensors and model.json; onnx: model.onnx, opset 17, in fp32 or, quantized, QDQ")
      ->capture_default_str()
      ->type_name("ptrain|onnx");
  command->footer("Example:\n  ptrain export runs/resnet50 --out model\n  ptrain export model --out . --format onnx");
  command->callback([arguments] { export_model(*arguments); });
}

}  // namespace ptrain
