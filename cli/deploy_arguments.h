// The MODEL argument of infer, export and bench infer: a folder, or the configuration of the run that made it.
#pragma once

#include "core/exec/backend.h"
#include "core/infer/inference_dataset.h"
#include "core/runtime/decoding/beam_search.h"
#include "core/runtime/deployed_model.h"
#include "core/runtime/loaded_model.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace ptrain {

/// Opens `argument`: the folder of a run or of ptrain export, or a configuration (.yaml), whose output.dir is used.
/// Throws as open_trained_model does.
LoadedModel open_model(const std::string& argument);

/// Adds --column and --label-column, which name the columns of input tables.
void add_column_options(CLI::App& command, InferenceDataOptions& options);

/// Adds --beams and --length-penalty.
void add_search_options(CLI::App& command, SearchOptions& search, const std::string& group);

/// Adds --kv-cache-dtype.
CLI::Option* add_cache_option(CLI::App& command, std::string& dtype);
/// The value of that option: by default the precision that attention computes in. Throws Error{usage}.
DType cache_dtype(const AmpOptions& amp, const std::string& dtype);

/// Deployment options shared by infer and bench infer.
struct DeployArguments {
  std::string model;
  std::string device = "auto";
  std::string amp = "O0";
  std::int64_t batch = 32;
  std::string adapter = {};
  std::string weights = "auto";
  std::int64_t max_length = 0;

  /// Adds MODEL, --adapter, --device, --amp, --weights, --max-length and --batch.
  void add_to(CLI::App& command);
  /// The model with its adapter, as open_model() or of a GGUF file. Throws as open_gguf and add_adapter do.
  LoadedModel open() const;
  /// Throws Error{usage} naming an option with an invalid value.
  std::unique_ptr<Backend> make_backend() const;
  DeployOptions deploy_options(const LoadedModel& opened, Backend& backend) const;

 private:
  BlockFormats block_weights(const LoadedModel& opened, Backend& backend) const;
};

}  // namespace ptrain
