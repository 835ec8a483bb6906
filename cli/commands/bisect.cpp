// ptrain bisect: finds the commit with which a speed, memory or accuracy changed, in few noisy runs.
#include "core/bench/bisect.h"
#include "cli/command_options.h"
#include "cli/commands.h"
#include "cli/number_range.h"
#include "cli/open_device.h"
#include "cli/output_format.h"
#include "cli/program_catalogs.h"
#include "cli/reference/command_tree.h"
#include "cli/shipped.h"
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/base/standard_streams.h"
#include "core/config/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace ptrain {
namespace {

struct BisectArguments {
  std::string good, bad, suite;
  std::vector<std::string> assignments;
  BenchCommand command;
  double timeout_seconds = 0;
  double confidence_percent = 95;
  std::string figure = "throughput";
  std::string format = "text";
  std::int64_t seed = 1;
  bool quiet = false;
  BisectOptions options;
};

Response parse_figure(const std::string& name) {
  std::vector<std::string> names;
  for (const Response response : all_responses) {
    names.emplace_back(to_string(response));
    if (names.back() == name) return response;
  }
  fail_usage("--figure: expected {}, got {}", join_words(names, "or"), shown(name));
}

/// The suite of SUITE#CASE, with that case alone.
Suite load_case(const std::string& named, const std::vector<Override>& overrides) {
  const std::size_t mark = std::min(named.find('#'), named.size());
  Suite suite = load_suite(shipped_file(named.substr(0, mark)), catalogs(), overrides);
  std::vector<std::string> names;
  for (const BenchCase& item : suite.cases) names.push_back(item.name);
  if (mark == named.size() && names.size() > 1) {
    fail_usage("{}: has {} cases and a search measures one; name it: {}#{}", named, names.size(), named, names.front());
  }
  if (mark < named.size()) {
    const std::string wanted = named.substr(mark + 1);
    std::erase_if(suite.cases, [&](const BenchCase& item) { return item.name != wanted; });
    if (suite.cases.empty()) fail_usage("{}: no case {}{}", named, shown(wanted), did_you_mean(wanted, names));
  }
  return suite;
}

Suite make_suite(const BisectArguments& arguments) {
  const bool by_command = !arguments.command.text.empty();
  if (by_command != arguments.suite.empty()) fail_usage("bisect: expected a suite or --command, one of them");
  require_command_of_metric("bisect", by_command, arguments.command.metric, arguments.command.unit);
  const std::vector<Override> overrides = parse_overrides(arguments.assignments);
  if (by_command) refuse_keys_of_command(arguments.assignments);
  Suite suite = by_command ? command_suite(arguments.command, {}, catalogs()) : load_case(arguments.suite, overrides);
  if (arguments.timeout_seconds > 0) suite.timeout_seconds = arguments.timeout_seconds;
  suite.seed = arguments.seed;
  return suite;
}

void bisect(BisectArguments& arguments) {
  BisectOptions& options = arguments.options;
  options.response = parse_figure(arguments.figure);
  options.confidence = arguments.confidence_percent / 100;
  options.good = arguments.good;
  options.bad = arguments.bad;
  options.suite = make_suite(arguments);
  options.commits = list_commits(options.good, options.bad);
  options.machine = this_machine();
  options.software = installed_software();
  if (options.folder.empty()) {
    options.folder =
        std::filesystem::path("runs/bisect") /
        fmt::format("{}-{}", short_hash(options.commits.front().hash), short_hash(options.commits.back().hash));
  }
  const SignalGuard signals;
  options.stopped = [] { return SignalGuard::received() != 0; };
  options.on_change = [&](const std::string& line) {
    if (!arguments.quiet) print_error_line(line);
  };
  const BisectReport report = run_bisect(options);
  fmt::print("{}", arguments.format == "json" ? document_text(report) : bisect_text(report));
  finish_output();
  if (!arguments.quiet) print_error_line(fmt::format("builds and records: {}", options.folder.string()));
  if (report.outcome() != ExitCode::ok) throw Error(report.outcome(), "no commit was found, see above");
}

}  // namespace

void add_bisect_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("bisect", "find the commit with which speed, memory or accuracy changed");
  const auto arguments = std::make_shared<BisectArguments>();
  BisectOptions& options = arguments->options;
  command->add_option("GOOD", arguments->good, "commit before the change")->required();
  command->add_option("BAD", arguments->bad, "commit after it")->required();
  command->add_option("SUITE", arguments->suite, "YAML file of a suite of one case, or SUITE#CASE; or --command");
  command->add_option("--build", options.build, "shell command that builds a commit, run in its folder");
  command->add_option("--command", arguments->command.text,
                      "command line to measure, run in the commit's folder; {commit} is its hash");
  add_metric_options(*command, arguments->command.metric, arguments->command.unit);
  options.program = "build/release/bin/ptrain";
  command->add_option("--program", options.program, "ptrain in a commit's folder, where the suite runs it")
      ->default_str(options.program.string());
  command->add_option("--figure", arguments->figure, "what changed")
      ->capture_default_str()
      ->type_name("throughput|memory|accuracy|\"time to accuracy\"");
  command->add_option("-o,--set", arguments->assignments, "key.path=value, overrides any key of the case; repeatable")
      ->allow_extra_args(false)
      ->type_name(key_value);
  command
      ->add_option("--threshold", options.threshold_percent,
                   "smaller differences of GOOD and BAD are none: percent, or points of a metric of at most 1")
      ->capture_default_str()
      ->check(in_range(0.01, 100.0));
  command->add_option("--confidence", arguments->confidence_percent, "probability of the answer in percent")
      ->capture_default_str()
      ->check(in_range(50.0, 99.99));
  command->add_option("--max-runs", options.most_runs, "runs after which the search ends undecided")
      ->capture_default_str()
      ->check(CLI::Range(6, 100000));
  command->add_option("--timeout", arguments->timeout_seconds, "time limit of a run in seconds, overriding the suite's")
      ->check(in_range(0.1, 1e6));
  command->add_option("--seed", arguments->seed, "seed of the order of runs")->capture_default_str();
  command->add_option("--out", options.folder, "folder of builds and records; default runs/bisect/GOOD-BAD");
  command->add_flag("--fresh", options.fresh, "delete what an earlier search left there");
  CLI::Option* format = command->add_option("--format", arguments->format, "output format")
                            ->capture_default_str()
                            ->check(CLI::IsMember({"text", "json"}))
                            ->type_name("text|json");
  command
      ->add_flag_callback(
          "--json", [arguments] { arguments->format = "json"; }, "same as --format json")
      ->excludes(format);
  command->add_flag("-q,--quiet", arguments->quiet, "print only the answer and errors");
  command->footer(
      "Each commit is cloned below --out, built and measured there; one that does not build or run is skipped.\n"
      "An interrupted search continues where it stopped.\n"
      "Exit codes: 0 found; 5 no difference between the ends, or undecided.\nExamples:\n"
      "  ptrain bisect v1.2 HEAD --build 'make -j8' --command './train --steps 100' --metric 'images/s: ([0-9.]+)'\n"
      "  ptrain bisect HEAD~40 HEAD configs/bench/ci_smoke.yaml#level=O0 --build 'cmake --preset release && cmake "
      "--build build/release --target ptrain'");
  command->callback([arguments] { bisect(*arguments); });
}

}  // namespace ptrain
