// ptrain compare: tests whether new runs are as fast and as accurate as base runs, from records or measured live,
// interleaved.
#include "core/analysis/compare.h"
#include "cli/commands.h"
#include "cli/comparison_options.h"
#include "cli/open_device.h"
#include "cli/program_catalogs.h"
#include "cli/reference/command_tree.h"
#include "cli/shipped.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/standard_streams.h"
#include "core/bench/ab_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::string base, changed;
  std::vector<std::string> common;
  std::vector<std::string> against;
  std::string program, against_program;
  double budget = 120;
  std::int64_t seed = 1;
  std::string out;
  bool fresh = false;
  ComparisonOptions comparison;

  bool live() const { return !against.empty() || !against_program.empty(); }
};

/// "build/bin/ptrain configs/resnet50.yaml -o amp.level=O1"
std::string format_side(const fs::path& config, const ComparisonSide& side) {
  std::string text = fmt::format("{} {}", fs::weakly_canonical(side.program.path).string(), config.string());
  for (const Override& override : side.overrides) text += fmt::format(" -o {}={}", override.key, override.value);
  return text;
}

/// "pair 3: base 79.3 images/s, new 80.1 images/s (10th percentile of step times); step time -0.99 % (-1.40 to -0.52)"
/// Pairs with a run that does not count leave the figures as they were: "pair 2: ..., from 1 pair".
std::string format_pair(std::int64_t pair, const CaseComparison& so_far) {
  const Interval& change = so_far.speed.percent;
  std::string text = fmt::format("pair {}: ", pair);
  if (so_far.speed.runs == 0) return text + "no figures yet: its step times did not settle";
  if (so_far.base && so_far.changed) {
    text += fmt::format("base {:.4g}, new {:.4g} {} ({}); ", so_far.base->speed, so_far.changed->speed,
                        so_far.base->unit, spelled_out(so_far.estimator));
  }
  text += fmt::format("step time {:+.2f} %", change.estimate);
  if (change.bounded) text += fmt::format(" ({:+.2f} to {:+.2f})", change.lower, change.upper);
  if (so_far.speed.runs == pair) return text;
  return text + (so_far.speed.paired ? ", from " + counted(so_far.speed.runs, "pair")
                                     : fmt::format(", from {} of each", so_far.speed.runs));
}

Comparison compare_live(const CompareOptions& options) {
  if (!options.changed.empty()) fail_usage("compare: --against takes one configuration, got {} too", options.changed);
  AbComparisonOptions ab;
  ab.config = shipped_file(options.base);
  ab.base.overrides = parse_overrides(options.common);
  ab.changed.overrides = ab.base.overrides;
  std::ranges::copy(parse_overrides(options.against, "--against"), std::back_inserter(ab.changed.overrides));
  ab.base.program = bench_program(options.program);
  ab.changed.program = options.against_program.empty() ? ab.base.program : bench_program(options.against_program);
  ab.rule = options.comparison.rule();
  ab.rule.allowed = {DifferenceKind::config, DifferenceKind::data, DifferenceKind::hardware};  // as requested
  ab.budget_seconds = options.budget;
  ab.seed = options.seed;
  ab.folder = options.out.empty() ? fs::path("runs/compare") / folder_name(utc_time()) : fs::path(options.out);
  ab.fresh = options.fresh;
  ab.software = installed_software();
  const SignalGuard signals;
  ab.stopped = [] { return SignalGuard::received() != 0; };
  print_error_line(
      fmt::format("base: {}\nnew:  {}", format_side(ab.config, ab.base), format_side(ab.config, ab.changed)));
  ab.on_pair = [](std::int64_t pair, const CaseComparison& so_far) { print_error_line(format_pair(pair, so_far)); };
  Comparison comparison = run_ab_comparison(ab, catalogs());
  fmt::print(stderr, "records: {}\n", ab.folder.string());
  return comparison;
}

void compare_command(const CompareOptions& options) {
  if (!options.live() && options.changed.empty()) {
    fail_usage("compare: expected BASE and NEW, or a configuration and --against KEY=VALUE");
  }
  const CompareRule rule = options.comparison.rule();
  options.comparison.print(options.live() ? compare_live(options)
                                          : compare(load_runs(options.base), load_runs(options.changed), rule));
}

}  // namespace

void add_compare_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("compare", "test whether a second set of runs is slower or less accurate");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("BASE", options->base, "report, folder, or folder#CASE; with --against a configuration")
      ->required();
  command->add_option("NEW", options->changed, "report or folder to compare with BASE");
  command->add_option("-o,--set", options->common, "live: key.path=value for both sides; repeatable")
      ->allow_extra_args(false)
      ->type_name(key_value);
  command->add_option("--against", options->against, "live: key.path=value of the new side; repeatable")
      ->allow_extra_args(false)
      ->type_name(key_value);
  command->add_option("--program", options->program, "live: the base's ptrain; default: this one");
  command->add_option("--against-program", options->against_program, "live: the new side's ptrain");
  command->add_option("--budget", options->budget, "live: time limit in seconds")->capture_default_str();
  command->add_option("--seed", options->seed, "live: seed of the order within each pair")->capture_default_str();
  command->add_option("--out", options->out, "live: folder of the records; default runs/compare/TIME");
  command->add_flag("--fresh", options->fresh, "live: delete what an earlier comparison left in --out");
  options->comparison.add_to(*command);
  command->footer(
      "Exit codes: 0 same or faster; 4 slower or less accurate; 5 inconclusive or not comparable.\nExamples:\n"
      "  ptrain compare results/MACHINE/ci_smoke/baseline results/MACHINE/ci_smoke\n"
      "  ptrain compare runs/smoke#level=O0 runs/smoke#level=O1 --allow config --format html >gate.html\n"
      "  ptrain compare configs/quick/bert_synthetic.yaml --against flags.cudnn_exhaustive_search=false --budget 60");
  command->callback([options] { compare_command(*options); });
}

}  // namespace ptrain
