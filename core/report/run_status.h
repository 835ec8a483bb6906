// How a run ended.
#pragma once

#include <string_view>

namespace ptrain {

enum class RunStatus { ok, diverged, oom, interrupted, error };

/// "ok", "diverged", "oom", "interrupted", "error"
std::string_view name_of(RunStatus status);

}  // namespace ptrain
