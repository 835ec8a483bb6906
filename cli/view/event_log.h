// Prints one JSON line per event on standard output, for programs that follow a run.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace ptrain {

/// Prints {"event": name, ...fields}. A reader that disconnects does not end the run; other lost output is an error
/// when the command ends (finish_output).
void print_event(std::string_view name, nlohmann::json fields);

}  // namespace ptrain
