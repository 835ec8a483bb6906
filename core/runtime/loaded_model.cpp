#include "core/runtime/loaded_model.h"

#include "core/base/errors.h"
#include "core/config/model_catalog.h"
#include "core/data/factory.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"
#include "core/io/gguf.h"
#include "core/runtime/adapter.h"
#include "core/tasks/task_registry.h"

#include <fmt/ranges.h>

#include <algorithm>

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

namespace {

/// The model of the file's architecture.
const ModelEntry& find_architecture(const GgufFile& file, std::span<const ModelEntry> architectures) {
  std::vector<std::string> names;
  for (const ModelEntry& entry : architectures) {
    if (entry.name == file.architecture()) return entry;
    names.push_back(entry.name);
  }
  fail("{}: general.architecture: expected one of {}, got {}", file.path(), fmt::join(names, ", "),
       quoted_name(file.architecture()));
}

std::int64_t choose_length(const GgufFile& file, std::int64_t requested) {
  constexpr std::int64_t usual = 2048;  // caches of the whole context can be larger than the weights
  const std::int64_t most = file.positive_integer("context_length");
  if (requested > most) fail_usage("--max-length: expected at most {}, got {}: {}", most, requested, file.path());
  return requested > 0 ? requested : std::min(usual, most);
}

}  // namespace

LoadedModel open_gguf(const std::filesystem::path& path, std::int64_t max_length,
                      std::span<const ModelEntry> architectures, ModelMaker make) {
  const GgufFile file(path);
  LoadedModel opened;
  ModelArtifact& trained = opened.trained;
  trained.folder = trained.gguf = path;
  trained.config.model.entry = find_architecture(file, architectures);
  trained.config.model.weights = path.string();
  const int vocabulary = open_tokenizer(path, TextCase::keep)->vocab_size();
  file.check();
  trained.data = tokens_info(static_cast<int>(choose_length(file, max_length)), vocabulary);
  trained.config.model.classes = trained.data.classes;
  trained.document.text = {trained.data.max_length, /*lowercase=*/false, vocabulary};
  opened.task = make_task(task_name(trained.config));
  opened.model = make(trained.config, trained.data);
  trained.document.model = opened.model->name();
  trained.document.signature = opened.model->signature();
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
