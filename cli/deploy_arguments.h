// The MODEL that infer, export and bench infer take: a folder, or the configuration whose run made it.
#pragma once

#include "core/exec/backend.h"
#include "core/infer/inference_dataset.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/loaded_model.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace ptrain {

/// `argument`: the folder of a run or of ptrain export, or a configuration (.yaml), which stands for its output.dir.
/// Throws as open_trained_model does.
LoadedModel open_model(const std::string& argument);

/// Adds --column and --label-column, which name the columns of tables that are asked.
void add_column_options(CLI::App& command, InferenceDataOptions& options);

/// How a model is deployed; the options that infer and bench infer share.
struct DeployArguments {
  std::string model;
  std::string device = "auto";
  std::string amp = "O0";
  std::int64_t batch = 32;

  /// Adds MODEL, --device, --amp and --batch.
  void add_to(CLI::App& command);
  /// Throws Error{usage} naming the option that is none of its choices.
  std::unique_ptr<Backend> make_backend() const;
  DeployOptions deploy_options(const LoadedModel& opened, DType preferred) const;
};

}  // namespace ptrain
