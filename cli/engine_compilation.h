// Compiles cuDNN's plans of a run for a GPU that is described by a file: ptrain estimate --compile-for.
#pragma once

#include "cli/open_workload.h"

#include <string>

namespace ptrain {

struct CompilationOptions {
  std::string description;       // file that describes the GPU; empty: do not compile
  std::string folder = "plans";  // shipped as share/ptrain/plans
};

/// Compiles the plans of a run of `config` without kernel search; returns a line on the result. The workload needs no
/// backend. Throws Error{failed} without a GPU description, and when nothing was compiled.
std::string compile_plans(Config config, const Workload& workload, const CompilationOptions& options);

}  // namespace ptrain
