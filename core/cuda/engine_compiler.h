// Compiles the cuDNN plans of runs for a GPU that is not present.
#pragma once

#include "core/exec/backend.h"

#include <filesystem>

namespace ptrain::cuda {

/// The plans compiled so far.
struct CompiledEngines {
  std::string gpu;
  std::filesystem::path folder;     // where they are stored
  std::int64_t plans = 0;           // number of different graphs
  std::int64_t bytes = 0;           // of all files in the folder
  std::int64_t norms_left_out = 0;  // batch norms for which no persistent plan was compiled, although one was wanted
  std::string reason = {};          // for the last of them
};

/// Makes kernels as the CUDA backend does, so that the plans that they will use are compiled, and runs none.
class EngineCompiler : public Backend {
 public:
  virtual CompiledEngines compiled() const = 0;
};

/// For the GPU of `description`, from gpu_description() or `ptrain doctor --describe-gpu`; plans are stored in `folder`
/// as in share/ptrain/plans. Throws Error{failed} in builds without CUDA and when cuDNN rejects the description.
std::unique_ptr<EngineCompiler> make_plan_compiler(const std::string& description, const std::filesystem::path& folder);

}  // namespace ptrain::cuda
