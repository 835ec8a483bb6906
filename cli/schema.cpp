// ptrain schema: the JSON Schemas of what goes in and what comes out.
#include "cli/commands.h"
#include "core/config/keys.h"
#include "core/report/report.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {

void add_schema_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("schema", "print the JSON Schema of the configuration or the report");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain schema report > report.schema.json");
  command->add_subcommand("config", "of the YAML configuration")->callback([] {
    fmt::print("{}\n", config_schema().dump(2));
  });
  command->add_subcommand("report", "of report.json")->callback([] { fmt::print("{}\n", report_schema().dump(2)); });
}

}  // namespace ptrain
