// ptrain export-report: writes a report in another suite's format.
#include "cli/commands.h"
#include "cli/reference/command_tree.h"
#include "core/analysis/export/export.h"
#include "core/base/errors.h"
#include "core/config/text.h"
#include "core/io/atomic_file.h"
#include "core/io/free_output.h"

#include <fmt/format.h>

#include <memory>

namespace ptrain {
namespace {

struct ExportOptions {
  std::string report;
  std::string format;
  std::string output;
};

const Exporter& find_exporter(const std::string& name) {
  std::vector<std::string> names;
  for (const Exporter& exporter : exporters()) {
    if (exporter.name == name) return exporter;
    names.emplace_back(exporter.name);
  }
  fail_usage("--format: expected {}, got {}{}", fmt::join(names, "|"), shown(name), did_you_mean(name, names));
}

void export_report(const ExportOptions& options) {
  require_free_output("--out", options.output, {options.report});
  const std::string text = find_exporter(options.format).write(read_export_input(options.report));
  require_earlier_output("--out", options.output, text);
  if (options.output.empty()) {
    fmt::print("{}", text);
  } else {
    write_file_atomic(options.output, text);
  }
}

}  // namespace

void add_export_report_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("export-report", "write a report in another suite's format");
  const auto options = std::make_shared<ExportOptions>();
  command->add_option("REPORT", options->report, "report.json, or its folder")->required();
  std::string formats;
  std::string names;
  for (const Exporter& exporter : exporters()) {
    names += fmt::format("{}{}", names.empty() ? "" : "|", exporter.name);
    formats += fmt::format("\n  {}: {}", exporter.name, exporter.help);
  }
  command->add_option("--format", options->format, "output format:" + formats)->required()->type_name(names);
  add_hidden_option(*command, "--output", options->output);
  command->add_option("--out", options->output, "file to write; default: standard output");
  command->footer("Example:\n  ptrain export-report runs/resnet50 --format mllog --out result_0.txt");
  command->callback([options] { export_report(*options); });
}

}  // namespace ptrain
