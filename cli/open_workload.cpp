#include "cli/open_workload.h"

#include "cli/open_device.h"
#include "core/base/errors.h"
#include "core/data/matched_classes.h"
#include "core/report/json_file.h"
#include "core/runtime/adapter.h"
#include "core/runtime/model_artifact.h"
#include "core/train/options_from_config.h"
#include "models/model_registry.h"

namespace ptrain {

namespace {

/// The names of the classes of a trained model, from model.json beside its weights; empty if they are other weights.
std::vector<std::string> read_class_names_beside(const std::filesystem::path& weights) {
  const std::filesystem::path document = weights.parent_path() / model_files::document;
  if (weights.filename() != model_files::weights || !std::filesystem::exists(document)) return {};
  return read_document<ModelDocument>(document).class_names;
}

Workload open_samples(Config& config, const std::vector<std::string>& classes) {
  read_adapter_settings(config.model.lora);
  Workload workload;
  DataSettings settings = data_settings(config);
  const auto match = [&](std::unique_ptr<Dataset> data) {
    if (classes.empty()) return data;
    return match_classes(std::move(data), classes,
                         (std::filesystem::path(config.model.weights).parent_path() / model_files::document).string());
  };
  std::unique_ptr<Dataset> training = open_dataset(settings, Split::train);
  if (settings.classes == 0) settings.classes = training->info().classes;
  workload.training = match(std::move(training));
  if (config.model.classes == 0) config.model.classes = workload.training->info().classes;
  if (config.eval.any()) workload.evaluation = match(open_dataset(settings, Split::eval));
  workload.model = make_model(config, workload.training->info());
  return workload;
}

Workload with_backend(Workload workload, const Config& config, int device_index) {
  workload.backend = make_backend(config.device, device_index);
  if (!workload.backend->kernels().reads_block_weights()) refuse_block_weights(config);
  return workload;
}

void require_one_device(const Config& config) {
  if (config.device.gpu && config.dist.ranks > 1) {
    fail_usage(
        "device: {} is one GPU, but dist.ranks is {}; expected cuda, so that each rank uses the GPU of its index",
        to_string(config.device), config.dist.ranks);
  }
}

}  // namespace

void refuse_block_weights(const Config& config) {
  const LoraBase base = config.model.lora.base;
  if (!has_adapters(config) || base == LoraBase::full) return;
  fail_usage("model.lora.base: expected full on a GPU: {} is for the CPU (device: cpu)", enum_name(base));
}

Workload open_workload(Config& config, int device_index) {
  require_one_device(config);
  return with_backend(open_data_and_model(config), config, device_index);
}

Workload open_evaluation_workload(Config& config, int device_index) {
  require_one_device(config);
  const bool resumes = config.resume != "none";
  return with_backend(
      open_samples(config, resumes ? std::vector<std::string>{} : read_class_names_beside(config.model.weights)),
      config, device_index);
}

Workload open_data_and_model(Config& config) { return open_samples(config, {}); }

}  // namespace ptrain
