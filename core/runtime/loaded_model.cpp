#include "core/runtime/loaded_model.h"

#include "core/base/errors.h"
#include "core/config/model_catalog.h"
#include "core/runtime/adapter.h"
#include "core/tasks/task_registry.h"

namespace ptrain {

LoadedModel open_model(const std::filesystem::path& folder, std::span<const ModelEntry> known, ModelMaker make) {
  LoadedModel opened;
  opened.trained = open_trained_model(folder, known);
  opened.task = make_task(task_name(opened.trained.config));
  opened.trained.data.targets = opened.task->targets();
  try {
    opened.model = make(opened.trained.config, opened.trained.data);
  } catch (const Error& error) {
    fail("{}: {}", (opened.trained.folder / model_files::document).string(), error.what());
  }
  require_same_model(opened.trained, *opened.model);
  return opened;
}

void add_adapter(LoadedModel& opened, const std::filesystem::path& folder, ModelMaker make) {
  Config& config = opened.trained.config;
  const std::string where = opened.trained.folder.string();
  if (has_adapters(config)) fail_usage("{}: has adapters already; merge them first (ptrain export --merge)", where);
  config.model.lora = {};  // keys of adapters that were merged do not count
  config.model.lora.weights = folder.string();
  read_adapter_settings(config.model.lora);
  if (!has_adapters(config)) fail_usage("{}: {} takes no adapters", where, config.model.entry.name);
  opened.model = make(config, opened.trained.data);
  opened.trained.adapter = folder;
}

void require_answers(const LoadedModel& opened, const std::string& what) {
  if (opened.task->predicts_samples()) return;
  fail_usage("{}: {}, but {} makes one prediction per input; use ptrain infer{}", opened.trained.folder.string(),
             opened.task->translates() ? "translates" : "reads running text", what,
             opened.task->translates() ? "" : " or bench infer");
}

}  // namespace ptrain
