// What bench and bisect have in common: options of a measured command that is not ptrain's.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// --metric and --unit.
void add_metric_options(CLI::App& command, std::string& metric, std::string& unit);

/// Throws Error{usage} where one of them is given without --command; `name` is the command of ptrain's.
void require_command_of_metric(std::string_view name, bool has_command, const std::string& metric,
                               const std::string& unit);
/// Throws Error{usage} where there are keys of a configuration, which a measured command has not.
void refuse_keys_of_command(const std::vector<std::string>& assignments);

}  // namespace ptrain
