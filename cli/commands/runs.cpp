// ptrain runs and ptrain show: list earlier runs, and show the results of one.
#include "cli/commands.h"
#include "cli/output_format.h"
#include "cli/view/run_summary.h"
#include "core/analysis/op_times.h"
#include "core/analysis/run_list.h"
#include "core/analysis/run_record.h"
#include "core/base/errors.h"
#include "core/config/keys.h"
#include "core/io/run_files.h"
#include "core/report/json_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct RunsOptions {
  std::string folder = "runs";
  bool json = false;
};

void show_runs(const RunsOptions& options) {
  const RunList list = list_runs(options.folder);
  if (options.json) {
    print_document(list);
  } else {
    fmt::print("{}", run_list_text(list));
  }
}

/// Keys that differ from their defaults, "key: value".
std::string format_settings(const Report& report) {
  const nlohmann::json changed = describe_changed_work(restore_config(report));
  std::string text;
  for (const auto& [key, value] : changed.items()) text += fmt::format("  {}: {}\n", key, ptrain::to_text(value));
  return text;
}

std::string format_evaluations(const Report& report) {
  std::string text;
  for (const EvaluationReport& one : report.evaluations) {
    const MetricValue* primary = one.evaluation.primary();
    const MetricValue* loss = one.evaluation.find("loss");
    text += fmt::format("  step {:>6}  epoch {:>4}  {}  loss {:.4f}\n", one.step, one.epoch,
                        primary == nullptr ? "-" : primary->text(), loss == nullptr ? 0 : loss->value.value_or(0));
  }
  return text;
}

/// The report that a folder or file names. Throws Error{failed} for a run that has none, with how far it came.
fs::path find_report(const std::string& named) {
  if (!fs::is_directory(named)) return named;
  fs::path path = fs::path(named) / run_files::report;
  if (fs::exists(path)) return path;
  if (const std::optional<RunOverview> run = find_unreported_run(named)) {
    fail("{}: {}; it has no report yet", named, run->message);
  }
  return path;
}

struct ShowOptions {
  std::string run;
  bool json = false;
  std::size_t ops = 0;  // nodes to list; 0: the summary
};

void show_run(const ShowOptions& options) {
  const fs::path path = find_report(options.run);
  const Report report = read_report(path);
  if (options.json) return print_document(report);
  if (options.ops > 0) {
    const std::string nodes = slowest_nodes_text(report, options.ops);
    if (nodes.empty()) {
      fail("{}: the run did not time its ops; train with -o output.per_op=true to have them", path.string());
    }
    fmt::print("{}", nodes);
    return;
  }
  std::string text = fmt::format("started   {} on {}\n", report.environment.time, report.environment.cpu.model);
  text += run_summary(report, read_step_times(path.parent_path() / run_files::metrics));
  if (!report.message.empty()) text += fmt::format("message   {}\n", report.message);
  if (!report.progress.ended_early.empty()) text += fmt::format("ended     {}\n", report.progress.ended_early);
  if (!report.evaluations.empty()) text += "evaluations\n" + format_evaluations(report);
  text += "settings that differ from the defaults\n" + format_settings(report);
  if (!report.notes.empty()) text += "notes\n";
  for (const std::string& note : report.notes) text += fmt::format("  {}\n", note);
  fmt::print("{}report: {}\n", text, path.string());
}

}  // namespace

void add_runs_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("runs", "list the runs of a folder: status, accuracy, speed");
  const auto options = std::make_shared<RunsOptions>();
  command->add_option("DIR", options->folder, "folder to search, with all folders below it")->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example:\n  ptrain runs\n  ptrain runs /srv/ptrain --json");
  command->callback([options] { show_runs(*options); });
}

void add_show_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("show", "show the results and settings of one run");
  const auto options = std::make_shared<ShowOptions>();
  command->add_option("RUN", options->run, "a run's folder or its report.json")->required();
  CLI::Option* json = command->add_flag("--json", options->json, "print the report");
  command
      ->add_option("--ops", options->ops,
                   "list the N slowest layers of a step: implementation, time, rate, share of the roofline")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->excludes(json);
  command->footer("Example:\n  ptrain show runs/resnet50\n  ptrain show runs/resnet50 --ops 20");
  command->callback([options] { show_run(*options); });
}

}  // namespace ptrain
