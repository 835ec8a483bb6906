// ptrain schema: the JSON Schemas of what goes in and what comes out.
#include "cli/commands.h"
#include "core/analysis/compare.h"
#include "core/analysis/effects.h"
#include "core/analysis/run_set.h"
#include "core/analysis/table.h"
#include "core/config/keys.h"
#include "core/report/report.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

struct Published {
  const char* name;
  const char* help;
  nlohmann::json (*schema)();
};

constexpr Published kSchemas[] = {
    {"config", "of the YAML configuration", config_schema},
    {"report", "of report.json", report_schema},
    {"bench", "of suite.json, a benchmark's own description", suite_schema},
    {"bench-run", "of record.json, one run of a benchmark", run_record_schema},
    {"effects", "of ptrain effects --json", effects_schema},
    {"comparison", "of ptrain compare --json", comparison_schema},
    {"table", "of ptrain table --format json", table_schema},
};

}  // namespace

void add_schema_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("schema", "print the JSON Schema of what goes in or comes out");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain schema report > report.schema.json");
  for (const Published& item : kSchemas) {
    command->add_subcommand(item.name, item.help)->callback([schema = item.schema] {
      fmt::print("{}\n", schema().dump(2));
    });
  }
}

}  // namespace ptrain
