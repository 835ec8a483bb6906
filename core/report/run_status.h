// How a run ended.
#pragma once

#include <string_view>

namespace ptrain {

enum class RunStatus { ok, diverged, oom, interrupted, error };

/// "ok", "diverged", "oom", "interrupted", "error"
std::string_view to_string(RunStatus status);

}  // namespace ptrain
