// ptrain export: writes a trained model as a folder or ONNX file that is independent of its run.
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "cli/number_range.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/cpu/cpu_backend.h"
#include "core/deploy/adapters/merge_check.h"
#include "core/deploy/onnx/onnx.h"
#include "core/io/folder_lock.h"
#include "core/runtime/adapter.h"
#include "core/runtime/model_folder.h"
#include "models/model_registry.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <fstream>

namespace ptrain {
namespace {

struct ExportArguments {
  std::string model;
  std::string out;
  std::string format = "ptrain";
  bool merge = false;
  std::string check_text;
  double max_logit_error = 1e-3;
};

/// An earlier export may be replaced; its producer stands in the first bytes.
void require_free_onnx(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return;
  std::array<char, 64> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  if (std::string_view(start.data(), start.size()).find(onnx_producer) != std::string_view::npos) return;
  fail_usage("--out: {} would be overwritten, and is not of an earlier export; choose another folder", file.string());
}

bool continues_texts(const Task& task) { return !task.predicts_samples() && !task.translates(); }

/// Throws Error{usage} for a model that has no form in ONNX.
void require_onnx(const LoadedModel& opened) {
  if (opened.task->translates()) return;
  if (continues_texts(*opened.task)) {
    if (has_adapters(opened.trained.config)) {
      fail_usage("--format onnx: {} has adapters; merge them first (ptrain export --merge)",
                 opened.trained.folder.string());
    }
    return;
  }
  require_images_or_sentences(opened.trained, "--format onnx does not support");
}

/// Exports with a dynamic sequence length, so that texts are padded, not packed. Language models and translators get a
/// cache.
std::vector<std::filesystem::path> export_onnx(const LoadedModel& opened, const std::filesystem::path& folder) {
  Config config = opened.trained.config;
  config.data.padding = Padding::max_length;
  const std::unique_ptr<Model> model = make_model(config, opened.trained.data);
  const std::unique_ptr<Backend> backend = cpu::make_backend();
  DeployOptions options;
  options.kernels.exhaustive_search = false;
  options.max_length = opened.trained.data.max_length;
  const bool continues = !opened.task->predicts_samples() && has_cached_steps(*model, options.max_length);
  if (continues) options.cache = CacheOptions{options.max_length};
  DeployedModel deployed(*backend, *model, *opened.task, opened.trained.weights(), options);
  const FolderLock lock(folder);
  for (const std::string& name : onnx_files(*opened.task)) require_free_onnx(folder / name);
  return write_onnx(folder, deployed, opened.trained);
}

std::string format_check(const MergeCheck& check, const Task& task) {
  return fmt::format(
      "merged against adapters, after {}: logits' relative error {:.1e}, largest {:.1e}; the likeliest token is "
      "unchanged for {:.2f} %; {} {:.4f} and {:.4f}",
      counted(check.windows, "text"), check.relative, check.largest, 100 * check.agreement,
      task.metrics(0).front().title, check.perplexity_before, check.perplexity_after);
}

/// Writes the model with its adapters merged, and leaves it only if it answers as the one with adapters does.
void export_merged(const LoadedModel& opened, const ExportArguments& arguments) {
  constexpr std::int64_t windows = 64;
  require_adapters(opened.trained);
  const std::vector<TokenWindow> texts = arguments.check_text.empty()
                                             ? draw_windows(opened.trained, windows)
                                             : read_windows(opened.trained, arguments.check_text, windows);
  Config config = opened.trained.config;
  config.model.lora = {};
  ModelFolderWriter writer = claim_model_folder(opened.trained, arguments.out);
  write_merged(opened.trained, *make_model(config, opened.trained.data), writer.folder());
  const MergeCheck check = compare_merged(*cpu::make_backend(), opened, open_model(writer.folder().string()), texts);
  fmt::print("{}\n", format_check(check, *opened.task));
  if (check.relative <= arguments.max_logit_error) return writer.put_in_place();
  fail("{}: not written: the logits of the merged weights are off by {:.1e}, more than --max-logit-error {:.1e}",
       arguments.out, check.relative, arguments.max_logit_error);
}

void export_model(const ExportArguments& arguments) {
  const bool onnx = arguments.format == "onnx", peft = arguments.format == "peft";
  if (!onnx && !peft && arguments.format != "ptrain") {
    fail_usage("--format: expected ptrain|onnx|peft, got \"{}\"", arguments.format);
  }
  if (arguments.merge && arguments.format != "ptrain") {
    fail_usage("--merge: expected --format ptrain, got {}", arguments.format);
  }
  if (!arguments.check_text.empty() && !arguments.merge) fail_usage("--check-text: is for --merge");
  const LoadedModel opened = open_model(arguments.model);
  std::vector<std::filesystem::path> written{arguments.out};
  if (onnx) {
    require_onnx(opened);
    written = export_onnx(opened, arguments.out);
  } else if (peft) {
    write_adapter(opened.trained, *opened.model, arguments.out);
    fmt::print("adapter: {}\n", arguments.out);
    return;
  } else if (arguments.merge) {
    export_merged(opened, arguments);
  } else {
    copy_trained_model(opened.trained, arguments.out);
  }
  for (const std::filesystem::path& path : written) fmt::print("model: {}\n", path.string());
}

}  // namespace

void add_export_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("export", "write a trained model independent of its run");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("MODEL", arguments->model, "folder of a run, or the run's configuration")->required();
  command->add_option("--out", arguments->out, "folder to write")->required()->type_name("DIR");
  command
      ->add_option("--format", arguments->format,
                   "ptrain: model.safetensors and model.json; onnx: model.onnx, opset 17, in fp32 or, quantized, QDQ, "
                   "of a translator its encoder and its decoder's step; "
                   "peft: LoRA adapters alone, adapter_model.safetensors and adapter_config.json")
      ->capture_default_str()
      ->type_name("ptrain|onnx|peft");
  command->add_flag("--merge", arguments->merge,
                    "add LoRA adapters to the weights beside them, and compare the logits of both models");
  command
      ->add_option("--check-text", arguments->check_text,
                   "text to compare a merged model on; default: tokens drawn at random")
      ->type_name("FILE");
  command
      ->add_option("--max-logit-error", arguments->max_logit_error,
                   "largest accepted relative error of a merged model's logits")
      ->check(in_range(0.0, 1e6))
      ->capture_default_str();
  command->footer(
      "Example:\n  ptrain export runs/resnet50 --out model\n  ptrain export model --out . --format onnx\n"
      "  ptrain export runs/lora --out adapter --format peft\n"
      "  ptrain export runs/lora --out model --merge --check-text dev.txt");
  command->callback([arguments] { export_model(*arguments); });
}

}  // namespace ptrain
