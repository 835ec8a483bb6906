// ptrain schema: prints the JSON Schemas of ptrain's input and output files.
#include "cli/commands.h"
#include "cli/program_catalogs.h"
#include "core/analysis/bisect/bisect_report.h"
#include "core/analysis/compare.h"
#include "core/analysis/effects/effects.h"
#include "core/analysis/history/history.h"
#include "core/analysis/run_list.h"
#include "core/analysis/run_set.h"
#include "core/analysis/table.h"
#include "core/bench/suite_keys.h"
#include "core/config/keys.h"
#include "core/deploy/quantization/quantize_report.h"
#include "core/infer/decoding_speed.h"
#include "core/infer/inference.h"
#include "core/infer/scenarios.h"
#include "core/machine_check/checks.h"
#include "core/report/metrics_line.h"
#include "core/report/report.h"
#include "core/report/run_start.h"
#include "core/report/version_1.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

struct Published {
  const char* name;
  const char* help;
  nlohmann::json (*schema)();
};

nlohmann::json make_config_schema() { return make_config_schema(catalogs().keys()); }

template <typename T>
nlohmann::json make_schema() {
  return schema_of_fields<T>();
}

constexpr Published published_schemas[] = {
    {"config", "of the YAML configuration", make_config_schema},
    {"suite", "of the YAML file of a suite", suite_schema},
    {"report", "of report.json", make_schema<Report>},
    {"run-start", "of run_start.json, what is known before a run's first step", make_schema<RunStart>},
    {"metrics", "of a line of metrics.jsonl", metrics_schema},
    {"report-1", "of report.json of version 1, which can be read too", report_schema_version_1},
    {"model", "of model.json, a trained model's description", make_schema<ModelDocument>},
    {"infer", "of ptrain infer --report", make_schema<InferenceReport>},
    {"bench-infer", "of ptrain bench infer --json", make_schema<ScenarioReport>},
    {"bench-decoding", "of ptrain bench infer --scenario prefill or decode --json", make_schema<DecodingReport>},
    {"quantize", "of ptrain quantize --json", make_schema<QuantizeReport>},
    {"bench", "of suite.json, a benchmark's own description", make_schema<SuiteRecord>},
    {"bench-run", "of record.json, one run of a benchmark", make_schema<RunRecord>},
    {"bench-run-1", "of record.json of version 1, which can be read too", record_schema_version_1},
    {"effects", "of ptrain effects --json", make_schema<EffectsReport>},
    {"comparison", "of ptrain compare --json", make_schema<Comparison>},
    {"bisect", "of ptrain bisect --json", make_schema<BisectReport>},
    {"checks", "of ptrain doctor --check --json", make_schema<CheckReport>},
    {"baseline", "of baseline.json, a saved baseline", make_schema<BaselineRecord>},
    {"history", "of ptrain history --format json", make_schema<History>},
    {"runs", "of ptrain runs --json", make_schema<RunList>},
    {"table", "of ptrain table --format json", make_schema<TableDocument>},
};

}  // namespace

void add_schema_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("schema", "print the JSON Schema of an input or output file");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain schema report > report.schema.json");
  for (const Published& item : published_schemas) {
    command->add_subcommand(item.name, item.help)->callback([schema = item.schema] {
      fmt::print("{}\n", schema().dump(2));
    });
  }
}

}  // namespace ptrain
