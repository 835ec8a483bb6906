// A trained model's folder, read and made into the model that it says.
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

/// models/registry.h has it, and the models that are known.
using ModelMaker = std::unique_ptr<Model> (*)(const Config& config, const DatasetInfo& data);

/// Throws as open_trained_model does, and Error{failed} where model.json makes no model or another one.
LoadedModel open_model(const std::filesystem::path& folder, std::span<const ModelEntry> known, ModelMaker make);

/// Throws Error{usage} when the model goes on with texts: `what` gives one answer to each input.
void require_answers(const LoadedModel& opened, const std::string& what);

}  // namespace ptrain
