// ptrain bench: runs the cases of a suite, or of a training configuration and axes, interleaved, each in a fresh
// process, and reports the effects of the axes.
#include "cli/command_options.h"
#include "cli/commands.h"
#include "cli/number_range.h"
#include "cli/open_device.h"
#include "cli/program_catalogs.h"
#include "cli/reference/command_tree.h"
#include "cli/shipped.h"
#include "cli/view/bench_view.h"
#include "cli/view/console_options.h"
#include "cli/view/event_log.h"
#include "core/analysis/effects/effects.h"
#include "core/analysis/fingerprint.h"
#include "core/analysis/published.h"
#include "core/analysis/run_set.h"
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/standard_streams.h"
#include "core/bench/per_device.h"
#include "core/bench/sweep_identity.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace ptrain {
namespace {

struct BenchOptions {
  std::string file;
  std::vector<std::string> assignments;
  std::vector<std::string> axes;
  std::vector<std::string> commands;
  std::string metric, unit;
  std::string out;
  std::string machine;
  std::string program;
  std::int64_t repeats = 0;
  std::int64_t seeds = 0;
  std::optional<double> published;
  std::int64_t published_seeds = 1;
  double timeout_seconds = 0;
  bool per_device = false;
  bool fresh = false;
  bool retry_failed = false;
  std::string progress = "auto";
  std::string log;
  bool quiet = false;

  /// Whether results are printed as text.
  bool prints_results() const { return !quiet && log.empty(); }
};

ViewStyle parse_view_style(const BenchOptions& options) {
  const std::string& name = options.progress;
  if (!options.log.empty()) return ViewStyle::events;
  if (options.quiet) return ViewStyle::none;
  if (name == "auto") return ViewStyle::automatic;
  if (name == "table") return ViewStyle::table;
  if (name == "plain") return ViewStyle::plain;
  if (name == "none") return ViewStyle::none;
  fail_usage("--progress: expected auto|table|plain|none, got \"{}\"", name);
}

/// The suite of --command; several commands are the values of an axis of that name.
Suite make_command_suite(const BenchOptions& options, std::vector<AxisOption> axes) {
  if (!options.file.empty()) fail_usage("bench: give a suite or --command, got {} too", options.file);
  refuse_keys_of_command(options.assignments);
  BenchCommand command{options.commands.front(), options.metric, options.unit};
  if (options.commands.size() > 1) {
    axes.insert(axes.begin(), {"command", options.commands});
    command.text = "{command}";
  }
  return command_suite(command, axes, catalogs());
}

/// One run of each case for each of `seeds` training seeds.
void vary_seeds(Suite& suite, std::int64_t seeds) {
  suite.vary_seed = true;
  suite.repeats = seeds;
  require_seed_placeholders(suite);
}

Suite make_suite(const BenchOptions& options) {
  std::vector<Override> overrides = parse_overrides(options.assignments);
  if (options.per_device) overrides.push_back({"device", "cuda", "--per-device, which sets device"});
  std::vector<AxisOption> axes;
  for (const std::string& assignment : options.axes) axes.push_back(parse_axis(assignment));
  require_command_of_metric("bench", !options.commands.empty(), options.metric, options.unit);
  Suite suite = options.commands.empty() ? load_suite(shipped_file(options.file), catalogs(), overrides, axes)
                                         : make_command_suite(options, std::move(axes));
  if (options.timeout_seconds > 0) suite.timeout_seconds = options.timeout_seconds;
  if (options.repeats > 0) suite.repeats = options.repeats;
  if (options.seeds > 0) vary_seeds(suite, options.seeds);
  for (BenchCase& item : suite.cases) {
    if (options.published) item.published = {*options.published, options.published_seeds};
    if (!item.published || suite.vary_seed) continue;
    fail_usage("bench: a published value is compared with several training seeds: --seeds N, or vary_seed: true");
  }
  if (suite.confidence && suite.confidence->most_repeats < suite.repeats) suite.confidence.reset();
  return suite;
}

Suite expand_to_gpus(const Suite& suite) {
  if (const std::string reason = cuda::unavailable_reason(); !reason.empty()) {
    fail_usage("--per-device: needs NVIDIA GPUs to run the suite on; {} (on a CPU omit it)", reason);
  }
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return on_each_device(suite, cuda::cuda_info().devices.size(), visible == nullptr ? "" : visible);
}

/// Says which difference from a published value the seeds will find, in what earlier runs of the folder show of them.
void announce_power(const Suite& suite, const std::filesystem::path& folder) {
  RunSet earlier;
  if (has_records(folder)) earlier = load_runs(folder.string());
  for (const BenchCase& item : suite.cases) {
    if (!item.published || suite.repeats < 2) continue;
    const double factor = find_detectable_difference(suite.repeats, item.published->seeds);
    std::string line = fmt::format(
        "{}: {} seeds find a difference from the published {:g} of {:.1f} times the deviation "
        "between seeds in 80 % of cases",
        item.name, suite.repeats, item.published->value, factor);
    if (const MeasuredCase* known = earlier.find(item.name)) {
      const PublishedComparison seen = compare_with_published(known->ended(), *item.published);
      if (seen.seeds > 1) {
        line += fmt::format(": {} after {} earlier seeds", seen.metric->value_text(factor * seen.stdev), seen.seeds);
      }
    }
    print_error_line("note: " + line);
  }
}

/// Whether a run of the case has an accuracy, with or without a speed.
bool has_accuracy(const MeasuredCase& item) {
  return std::ranges::any_of(item.ended(),
                             [](const MeasuredRun* run) { return run->report && run->report->evaluation; });
}

/// Reports the cases without a good run, one line each. Returns the number of cases that have a result: a good run, or
/// an accuracy where only the speed is in doubt.
std::int64_t complain_about_failures(const RunSet& runs) {
  std::int64_t good = 0;
  for (const MeasuredCase& item : runs.cases) {
    if (!item.good().empty()) {
      ++good;
      continue;
    }
    const RunRecord* last = item.runs.empty() ? nullptr : &item.runs.back().record;
    const std::string why = last == nullptr ? "" : fmt::format(" ({}: {})", to_string(last->outcome), last->message);
    if (has_accuracy(item)) {
      ++good;
      print_error_line(fmt::format("note: {}: no speed{}; its accuracy counts", item.name, why));
    } else {
      print_error_line(fmt::format("note: {}: no good run{}", item.name, why));
    }
  }
  return good;
}

/// Reports that other programs slowed runs down, if any did.
void complain_about_load(const RunSet& runs) {
  std::size_t measured = 0, slowed = 0;
  const OtherLoad* most = nullptr;
  for (const MeasuredCase& item : runs.cases) {
    for (const MeasuredRun* run : item.ended()) {
      ++measured;
      const OtherLoad* const load = run->report ? run->report->environment.slowed_by() : nullptr;
      if (load == nullptr) continue;
      ++slowed;
      if (most == nullptr || load->cores > most->cores) most = load;
    }
  }
  if (slowed == 0) return;
  print_error_line(fmt::format("note: the machine was busy in {} of {} runs: {}", slowed, measured, most->text()));
}

void bench(const BenchOptions& options) {
  if (options.file.empty() && options.commands.empty()) {
    fail_usage(
        "bench: expected a suite, such as configs/bench/ci_smoke.yaml, a configuration and --axis, or --command");
  }
  const Suite suite = options.per_device ? expand_to_gpus(make_suite(options)) : make_suite(options);
  const BenchProgram program = suite.runs_ptrain() ? bench_program(options.program) : BenchProgram{};
  SweepOptions sweep;
  sweep.machine = this_machine();
  sweep.software = installed_software();
  const std::string machine = options.machine.empty() ? sweep.machine.name : options.machine;
  sweep.folder = options.out.empty() ? std::filesystem::path("results") / machine / suite.name
                                     : std::filesystem::path(options.out);
  sweep.kept = options.fresh ? Kept::none : options.retry_failed ? Kept::good_only : Kept::all;
  const SignalGuard signals;
  sweep.stopped = [] { return SignalGuard::received() != 0; };

  for (const std::string& line : shortages(suite)) print_error_line("note: " + line);
  announce_power(suite, sweep.folder);
  const auto view = make_bench_view(suite, parse_view_style(options));
  if (!run_sweep(suite, program, sweep, *view)) {
    throw Error(
        static_cast<ExitCode>(128 + SignalGuard::received()),
        fmt::format("interrupted; the same command continues with the runs missing in {}", sweep.folder.string()));
  }
  const RunSet runs = load_runs(sweep.folder.string());
  if (options.prints_results() && !suite.about.empty()) fmt::print("{}\n", suite.about);
  const std::int64_t good = complain_about_failures(runs);
  complain_about_load(runs);
  if (options.prints_results()) {
    if (good > 1) fmt::print("{}", effects_text(find_effects(runs)));
    for (const MeasuredCase& item : runs.cases) {
      if (!item.published) continue;
      fmt::print("{}: {}\n", item.name,
                 published_text(compare_with_published(item.ended(), *item.published), *item.published));
    }
    fmt::print("records: {}\n", sweep.folder.string());
  }
  if (!options.log.empty()) print_event("end", {{"good_cases", good}, {"records", sweep.folder.string()}});
  if (good == 0) fail("no case has a result");
}

}  // namespace

void add_bench_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("bench", "run a suite of cases in interleaved fresh processes");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("SUITE", options->file,
                      "YAML file of a suite, or of a training configuration, which --axis varies");
  command
      ->add_option("--axis", options->axes,
                   "key.path=v1,v2: an axis of the suite, replacing its axis of that key, or the values of a "
                   "command's {key}; repeatable")
      ->allow_extra_args(false)
      ->type_name(key_value);
  command
      ->add_option(
          "--command", options->commands,
          "command line of another program to measure, with {NAME} for each axis; repeated: commands to compare")
      ->allow_extra_args(false);
  add_metric_options(*command, options->metric, options->unit);
  command->add_option("-o,--set", options->assignments, "key.path=value, overrides any key in every case; repeatable")
      ->allow_extra_args(false)
      ->type_name(key_value);
  command->add_option("--out", options->out, "folder of the records; default results/MACHINE/NAME of the suite");
  command->add_option("--machine", options->machine, "name of the machine's folder below results/");
  command->add_option("--program", options->program, "another ptrain to run; default: this one");
  CLI::Option* repeats = command->add_option("--repeats", options->repeats, "runs of each case, overriding the suite's")
                             ->check(CLI::Range(1, 1000));
  command
      ->add_option("--seeds", options->seeds,
                   "run each case with this many training seeds: accuracy then has mean and spread")
      ->check(CLI::Range(2, 1000))
      ->excludes(repeats);
  CLI::Option* published = command->add_option(
      "--published", options->published, "primary metric that others reached: the mean over seeds is compared with it");
  command->add_option("--published-seeds", options->published_seeds, "seeds of which the published value is the mean")
      ->check(CLI::Range(1, 1000))
      ->needs(published);
  command->add_option("--timeout", options->timeout_seconds, "time limit of a run in seconds, overriding the suite's")
      ->check(in_range(0.1, 1e6));
  command->add_flag("--per-device", options->per_device,
                    "run every case on each GPU alone, and on all at once: axes device and at_once");
  command->add_flag("--fresh", options->fresh, "delete earlier records");
  command->add_flag("--retry-failed", options->retry_failed, "run failed runs again");
  command->add_option("--progress", options->progress, "how a sweep's progress is shown")
      ->capture_default_str()
      ->type_name("auto|table|plain|none");
  command->add_flag("-q,--quiet", options->quiet, "print only errors");
  add_log_option(*command, options->log);
  command->footer(
      "An interrupted sweep resumes where it stopped. With --axis the axis is appended to the suite's name, so that "
      "its\n"
      "records are separate.\nExamples:\n  ptrain bench configs/bench/ci_smoke.yaml --out runs/smoke\n"
      "  ptrain bench configs/quick/bert_synthetic.yaml --axis amp.level=O0,O1 --axis data.batch_size=16,32 "
      "--repeats 3\n"
      "  ptrain bench --command 'python3 train.py --amp {amp}' --axis amp=O0,O1 --metric 'images/s: ([0-9.]+)'");
  command->callback([command, options] {
    if (command->get_subcommands().empty()) bench(*options);
  });
}

}  // namespace ptrain
