// cuDNN's plans of a run, compiled for a GPU that is only described: what ptrain plan --compile-for does.
#pragma once

#include "cli/open_workload.h"

#include <string>

namespace ptrain {

struct CompilationOptions {
  std::string description;       // file of the GPU's; empty: nothing is compiled
  std::string folder = "plans";  // what is shipped as share/ptrain/plans
};

/// Compiles what a run as `config` says asks for when it searches for nothing; returns a line on what there is now.
/// The workload needs no backend. Throws Error{failed} when there is none of a GPU, and when nothing was compiled.
std::string compile_plans(Config config, const Workload& workload, const CompilationOptions& options);

}  // namespace ptrain
