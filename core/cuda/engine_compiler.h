// Compiles the cuDNN plans of runs for a GPU that is not there.
#pragma once

#include "core/exec/backend.h"

#include <filesystem>

namespace ptrain::cuda {

/// What was compiled so far.
struct CompiledEngines {
  std::string gpu;
  std::filesystem::path folder;  // theirs
  std::int64_t plans = 0;        // of different graphs
  std::int64_t bytes = 0;        // of all files in the folder
};

/// Makes kernels as the CUDA backend does, so that they ask for the plans that they will run with, and runs none.
class EngineCompiler : public Backend {
 public:
  virtual CompiledEngines compiled() const = 0;
};

/// For the GPU of `description`, which gpu_description() or `ptrain doctor --describe-gpu` gave; plans lie below
/// `folder` as they do in share/ptrain/plans. Throws Error{failed} in builds without CUDA and when cuDNN does not take
/// the description.
std::unique_ptr<EngineCompiler> make_plan_compiler(const std::string& description, const std::filesystem::path& folder);

}  // namespace ptrain::cuda
