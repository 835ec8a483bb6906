// One JSON line per event on standard output, for programs that follow a run.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace ptrain {

/// Prints {"event": name, ...fields}. A reader that goes away ends nothing; what is lost otherwise is an error when the
/// command ends (finish_output).
void print_event(std::string_view name, nlohmann::json fields);

}  // namespace ptrain
