#include "cli/command_options.h"

#include "core/base/errors.h"

namespace ptrain {

void add_metric_options(CLI::App& command, std::string& metric, std::string& unit) {
  command.add_option("--metric", metric,
                     "its speed: a regular expression with one group, json:NAME, json:FILE#NAME or report:FILE; "
                     "default: its wall time");
  command.add_option("--unit", unit, "unit of the metric: images/s, or s, ms, us of a time");
}

void require_command_of_metric(std::string_view name, bool has_command, const std::string& metric,
                               const std::string& unit) {
  if (has_command || (metric.empty() && unit.empty())) return;
  fail_usage("{}: --metric and --unit go with --command; in a suite they are keys", name);
}

void refuse_keys_of_command(const std::vector<std::string>& assignments) {
  if (assignments.empty()) return;
  fail_usage("-o {}: sets a key of a configuration, and a command has none", assignments.front());
}

}  // namespace ptrain
