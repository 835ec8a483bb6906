// ptrain runs and ptrain show: list earlier runs, and show the results of one.
#include "cli/commands.h"
#include "cli/output_format.h"
#include "cli/view/run_summary.h"
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

void show_run(const std::string& named) {
  const fs::path path = fs::is_directory(named) ? fs::path(named) / run_files::report : fs::path(named);
  const Report report = read_report(path);
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
  const auto run = std::make_shared<std::string>();
  command->add_option("RUN", *run, "a run's folder or its report.json")->required();
  command->footer("Example:\n  ptrain show runs/resnet50");
  command->callback([run] { show_run(*run); });
}

}  // namespace ptrain
