// ptrain history: a suite's speed, memory and accuracy over its baselines, and where they changed.
#include "core/analysis/history/history.h"
#include "cli/commands.h"
#include "cli/number_range.h"
#include "cli/output_format.h"
#include "core/analysis/history/history_page.h"
#include "core/base/standard_streams.h"
#include "core/io/atomic_file.h"
#include "core/io/free_output.h"

#include <fmt/format.h>

#include <memory>

namespace ptrain {
namespace {

struct HistoryOptions {
  std::string folder;
  HistoryRule rule;
  std::string format = "text";
  std::string out;
  bool fails_on_regression = false;
};

std::string render(const History& history, const std::string& format) {
  if (format == "text") return history_text(history);
  if (format == "markdown") return history_markdown(history);
  if (format == "json") return document_text(history);
  if (format == "html") return history_page(history);
  fail_usage("--format: expected text|markdown|json|html, got \"{}\"", format);
}

void show(const HistoryOptions& options) {
  require_free_output("--out", options.out, {options.folder}, "ptrain.history");
  std::vector<std::string> left_out;
  const std::vector<SavedSweep> sweeps = load_saved_sweeps(options.folder, left_out);
  History history = find_history(options.folder, sweeps, options.rule);
  history.notes.insert(history.notes.end(), left_out.begin(), left_out.end());
  const std::string text = render(history, options.format);
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else {
    write_file_atomic(options.out, text);
  }
  if (!options.fails_on_regression) return;
  finish_output();
  const ExitCode code = history.outcome();
  if (code == ExitCode::regressed) throw Error(code, "the newest change of a series is a regression, see above");
  if (code == ExitCode::inconclusive) throw Error(code, "no verdict: too few points, see above");
}

}  // namespace

void add_history_command(CLI::App& program) {
  CLI::App* command =
      program.add_subcommand("history", "show a suite's figures over its baselines, and where they changed");
  const auto options = std::make_shared<HistoryOptions>();
  command->add_option("DIR", options->folder, "folder that contains baselines, at any depth")->required();
  command->add_option("--format", options->format, "output format")
      ->capture_default_str()
      ->type_name("text|markdown|json|html");
  command->add_option("--out", options->out, "file to write; default: standard output");
  command->add_flag("--fail-on-regression", options->fails_on_regression,
                    "exit code 4 if the newest change of a series is a regression, 5 if all are too short");
  command->add_option("--since", options->rule.since, "name of a baseline: earlier changes are not regressions");
  command->add_option("--threshold", options->rule.threshold_percent, "tolerated change of speed and memory in percent")
      ->capture_default_str()
      ->check(in_range(0.01, 100.0));
  command
      ->add_option("--accuracy-points", options->rule.accuracy_points,
                   "tolerated change of the primary metric in points, or percent if unbounded")
      ->capture_default_str()
      ->check(in_range(0.0, 100.0));
  command->footer(
      "Points are the sweeps below DIR in order of measurement: baselines, and a sweep in DIR that is\n"
      "not saved yet. Each machine and configuration forms its own series. Change points are found by\n"
      "E-divisive with a permutation test.\nExample:\n  ptrain bench configs/bench/ci_smoke.yaml --out runs/smoke "
      "--fresh\n"
      "  ptrain baseline save runs/smoke --name v12\n  ptrain history runs/smoke --fail-on-regression");
  command->callback([options] { show(*options); });
}

}  // namespace ptrain
