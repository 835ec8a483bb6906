// Opens a trained model's folder and builds its model.
#pragma once

#include "core/model/model.h"
#include "core/runtime/model_artifact.h"
#include "core/tasks/task.h"

#include <filesystem>
#include <memory>
#include <span>

namespace ptrain {

struct LoadedModel {
  ModelArtifact trained;
  std::unique_ptr<Model> model;
  std::unique_ptr<Task> task;
};

/// Makes a model from a configuration; models/model_registry.h has the function and the known models.
using ModelMaker = std::unique_ptr<Model> (*)(const Config& config, const DatasetInfo& data);

/// Throws as open_trained_model does, and Error{failed} if the model of model.json cannot be built or has other
/// weights.
LoadedModel open_model(const std::filesystem::path& folder, std::span<const ModelEntry> known, ModelMaker make);

/// Opens a GGUF file as a language model of texts of `max_length` tokens; 0: 2048, or its context where that is
/// shorter. `architectures`: the models that such files hold. Throws Error{failed} naming the file and the key or
/// tensor that is missing, damaged or of another architecture, Error{usage} for a max_length beyond its context.
LoadedModel open_gguf(const std::filesystem::path& file, std::int64_t max_length,
                      std::span<const ModelEntry> architectures, ModelMaker make);

/// Puts an adapter, a folder of PEFT's, beside the model's weights. Throws Error{usage} where the model has adapters
/// already or takes none, and as read_adapter_settings does.
void add_adapter(LoadedModel& opened, const std::filesystem::path& folder, ModelMaker make);

/// Throws Error{usage} for language models, since `what` makes one prediction per input.
void require_answers(const LoadedModel& opened, const std::string& what);

}  // namespace ptrain
