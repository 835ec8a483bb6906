#include "core/bench/bisect.h"

#include "core/analysis/quality.h"
#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/bench/bench_run.h"
#include "core/bench/child_process.h"
#include "core/bench/sweep.h"
#include "core/bench/sweep_identity.h"
#include "core/config/text.h"
#include "core/io/folder_lock.h"
#include "core/report/environment.h"
#include "core/report/json_file.h"
#include "core/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr double no_time_limit = 1e9;

/// How the build of a commit ended (`ptrain.bisect_build/1`).
struct BuildRecord {
  std::string commit, build;
  bool ok = false;
  std::string message;
  double seconds = 0;

  void describe(Fields& field) {
    field.document("ptrain.bisect_build/1", "How the build of a commit ended.");
    field("commit", commit, "hash");
    field("build", build, "command");
    field("ok", ok, "");
    field("message", message, "reason, unless ok");
    field("seconds", seconds, "");
  }
};

class Bisect {
 public:
  explicit Bisect(const BisectOptions& options)
      : options_(options),
        item_(options.suite.cases.front()),
        suite_(options.suite),
        last_(options.commits.size() - 1),
        search_(last_, {options.confidence, options.threshold_percent / 100, options.most_runs,
                        static_cast<std::uint64_t>(options.suite.seed)}) {
    suite_.name = "bisect";
    suite_.about = fmt::format("{} to {}, built by {}", options.commits.front().hash, options.commits.back().hash,
                               options.build.empty() ? "nothing" : shown(options.build));
    suite_.cases.clear();
    suite_.axes.clear();
    measure_.response = options.response;
  }

  BisectReport run() {
    open_folder();
    replay();
    while (search_.state() == SearchState::comparing_ends || search_.state() == SearchState::searching) {
      const std::size_t commit = search_.next();
      if (prepare(commit)) measure(commit);
    }
    BisectReport report = make_report();
    write_document(report, options_.folder / "bisect.json");
    return report;
  }

 private:
  std::string get_name(std::size_t commit) const { return short_hash(options_.commits[commit].hash); }
  fs::path get_tree(std::size_t commit) const { return options_.folder / "builds" / get_name(commit); }
  bool is_end(std::size_t commit) const { return commit == 0 || commit == last_; }

  void open_folder() {
    lock_.emplace(options_.folder);
    sweep_ = fmt::format("{} seed {}", utc_time(), suite_.seed);
    const fs::path file = options_.folder / "suite.json";
    if (fs::exists(file) && options_.fresh) {
      clear_runs(options_.folder);
      fs::remove_all(options_.folder / "builds");
    } else if (fs::exists(file)) {
      const auto before = read_document<SuiteRecord>(file);
      if (const std::string difference = find_difference(before); !difference.empty()) {
        fail_usage("{}: contains runs of another search: {}; --fresh replaces them, another --out keeps them",
                   options_.folder.string(), difference);
      }
      sweep_ = before.sweep;
    }
    describe();
  }

  /// From the search of `before`; empty where this one can continue it.
  std::string find_difference(const SuiteRecord& before) const {
    std::string difference;
    if (before.about != suite_.about) {
      add_change(difference, "the search", before.about, suite_.about);
      return difference;
    }
    Suite wanted = suite_;
    for (std::size_t commit = 0; commit <= last_; ++commit) wanted.cases.push_back(make_case(commit));
    const BenchProgram any;
    return sweep_difference(before, wanted, {any, options_.machine, options_.software});
  }

  void describe() const { write_suite(suite_, {}, options_.machine, options_.software, sweep_, options_.folder); }

  BenchCase make_case(std::size_t commit) const {
    BenchCase item = item_;
    item.name = item.folder = get_name(commit);
    item.settings = {{"commit", item.name}};
    item.command = fill_placeholder(item.command, "commit", options_.commits[commit].hash);
    if (!item.command.text.empty()) item.command.folder = fs::absolute(get_tree(commit));
    return item;
  }

  /// Adds the runs that an interrupted search has made, in their order.
  void replay() {
    std::map<std::int64_t, std::pair<std::size_t, MeasuredRun>> kept;
    for (std::size_t commit = 0; commit <= last_; ++commit) {
      const fs::path folder = options_.folder / "runs" / get_name(commit);
      if (!fs::exists(folder)) continue;
      add_case(commit);
      for (const auto& entry : fs::directory_iterator(folder)) {
        const fs::path file = entry.path() / "record.json";
        if (!fs::exists(file)) continue;
        MeasuredRun run;
        run.record = read_run_record(file);
        const std::int64_t position = run.record.position;
        kept.emplace(position, std::pair(commit, std::move(run)));
      }
    }
    for (const auto& [position, run] : kept) {
      position_ = position + 1;
      if (is_measured(run.second.record)) {
        take(run.first, run.second);
      } else if (!is_end(run.first)) {
        skip(run.first, run.second.record.message);
      }
    }
    if (!kept.empty()) options_.on_change(fmt::format("{} runs already done", kept.size()));
  }

  static bool is_measured(const RunRecord& record) {
    return (record.outcome == RunOutcome::ok || record.outcome == RunOutcome::unstable) && record.figures;
  }

  void add_case(std::size_t commit) {
    suite_.cases.push_back(make_case(commit));
    describe();
  }

  /// Gives an end's failure as an error; another commit is skipped.
  void give_up(std::size_t commit, const std::string& reason) {
    if (is_end(commit)) {
      fail("the {} end, {}, {}", commit == 0 ? "good" : "bad", get_name(commit), reason);
    }
    skip(commit, reason);
    options_.on_change(fmt::format("skipped {}: {}", get_name(commit), reason));
  }
  void skip(std::size_t commit, const std::string& reason) {
    skipped_.emplace(commit, reason);
    search_.skip(commit);
  }

  /// Builds a commit that was not built before. False where it cannot be measured, and is skipped.
  bool prepare(std::size_t commit) {
    if (programs_.contains(commit)) return true;
    const fs::path file = options_.folder / "builds" / (get_name(commit) + ".json");
    BuildRecord record;
    if (fs::exists(file)) record = read_document<BuildRecord>(file);
    if (record.commit.empty() || !fs::exists(get_tree(commit))) {
      record = build(commit);
      if (record.ok || !is_end(commit)) write_document(record, file);
    }
    if (!record.ok) {
      give_up(commit, record.message);
      return false;
    }
    programs_[commit] = suite_.runs_ptrain() ? bench_program(get_tree(commit) / options_.program) : BenchProgram{};
    if (std::none_of(suite_.cases.begin(), suite_.cases.end(),
                     [&](const BenchCase& item) { return item.name == get_name(commit); })) {
      add_case(commit);
    }
    return true;
  }

  BuildRecord build(std::size_t commit) const {
    const fs::path tree = get_tree(commit), log = tree.string() + ".txt";
    check_out(options_.commits[commit].hash, tree);
    BuildRecord record{options_.commits[commit].hash, options_.build, true, "", 0};
    if (!options_.build.empty()) {
      const ChildResult child =
          run_child("/bin/sh", {"-c", options_.build}, log, no_time_limit, options_.stopped, {}, tree);
      if (child.end == ChildResult::End::stopped) {
        fs::remove_all(tree);
        interrupt();
      }
      record.seconds = child.seconds;
      record.ok = child.end == ChildResult::End::exited && child.code == 0;
      if (!record.ok) {
        record.message =
            fmt::format("does not build: exit code {}: {} ({})", child.code, find_last_line(log), log.string());
      }
    }
    if (record.ok && suite_.runs_ptrain() && !fs::exists(tree / options_.program)) {
      record.ok = false;
      record.message = fmt::format("has no {} after its build", options_.program.string());
    }
    if (record.ok) options_.on_change(fmt::format("built {} in {:.1f} s", get_name(commit), record.seconds));
    return record;
  }

  [[noreturn]] void interrupt() const {
    throw Interrupted(SignalGuard::received(),
                      fmt::format("before the commit was found; the same command continues the search in {}",
                                  options_.folder.string()));
  }

  void measure(std::size_t commit) {
    const auto item = std::find_if(suite_.cases.begin(), suite_.cases.end(),
                                   [&](const BenchCase& one) { return one.name == get_name(commit); });
    const std::int64_t repeat = search_.count_runs(commit);
    BenchRun run = make_bench_run(suite_, *item, repeat);
    run.folder = options_.folder / "runs" / item->folder / fmt::format("{:02}", repeat);
    run.record.position = position_++;
    run.record.sweep = sweep_;
    if (suite_.vary_seed) run.record.seed += repeat;
    MeasuredRun measured;
    const auto record = run_once(programs_.at(commit), run, options_.stopped);
    if (!record) interrupt();
    measured.record = *record;
    if (!is_measured(*record)) {
      return give_up(commit, fmt::format("does not run: {}: {}", to_string(record->outcome), record->message));
    }
    if (take(commit, measured)) options_.on_change(describe_run(commit));
  }

  /// Whether the run has the value that is searched; without, its commit is given up.
  bool take(std::size_t commit, const MeasuredRun& run) {
    if (!measure_.metric && options_.response == Response::accuracy) {
      const MetricValue* primary = find_primary_metric(run);
      if (primary != nullptr) measure_.metric = *primary;
    }
    const bool lacks_metric = options_.response == Response::accuracy && !measure_.metric;
    const auto value = lacks_metric ? std::nullopt : find_response_value(run, measure_);
    if (!value) {
      give_up(commit, fmt::format("has no {}", to_string(options_.response)));
      return false;
    }
    unit_ = options_.response == Response::throughput         ? run.record.figures->unit
            : options_.response == Response::memory           ? "MiB"
            : options_.response == Response::time_to_accuracy ? "s"
                                                              : measure_.metric->unit;
    search_.add({commit, *value});
    return true;
  }

  double to_unit(double value) const {
    const double amount = measure_.in_points() ? value : std::exp(value);
    return options_.response == Response::memory ? amount / (1 << 20) : amount;
  }

  /// "run 17: 1a2b3c4d5e 98.3 images/s; ends differ by -3.1 % (-4.0 to -2.2); likeliest 5d6e7f8a9b (62.0 %)"
  std::string describe_run(std::size_t commit) const {
    std::string text = fmt::format("run {}: {} {:.4g} {}", search_.runs().size(), get_name(commit),
                                   to_unit(search_.runs().back().value), unit_);
    const BisectReport report = make_report();
    if (report.change) text += fmt::format("; ends differ by {}", format_change(report));
    if (report.state == SearchState::comparing_ends || report.suspects.empty()) return text;
    return fmt::format("{}; likeliest {} ({:.1f} %)", text, short_hash(report.suspects.front().hash),
                       100 * report.probability);
  }

  BisectCommit describe_commit(std::size_t commit) const {
    BisectCommit result{
        options_.commits[commit].hash, options_.commits[commit].subject, 0, search_.count_runs(commit), {}};
    if (commit < search_.location().probability.size()) result.probability = search_.location().probability[commit];
    std::vector<double> values;
    for (const CommitRun& run : search_.runs()) {
      if (run.commit == commit) values.push_back(run.value);
    }
    if (!values.empty()) result.value = to_unit(quantile(values, 0.5));
    return result;
  }

  BisectReport make_report() const {
    BisectReport report;
    report.good = options_.good;
    report.bad = options_.bad;
    report.build = options_.build;
    report.state = search_.state();
    report.measure = measure_;
    report.unit = unit_;
    report.confidence = options_.confidence;
    report.threshold_percent = options_.threshold_percent;
    report.commits = static_cast<std::int64_t>(last_);
    report.runs = static_cast<std::int64_t>(search_.runs().size());
    report.builds = static_cast<std::int64_t>(suite_.cases.size());
    const ChangeLocation& location = search_.location();
    if (location.freedom > 0) {
      const Interval change = location.change_interval(0.95);
      report.change = Interval{measure_.to_display_unit(change.estimate), measure_.to_display_unit(change.lower),
                               measure_.to_display_unit(change.upper), true};
    }
    if (report.state != SearchState::no_difference && search_.found_difference()) {
      const CommitRange range = search_.suspects();
      report.probability = range.probability;
      for (std::size_t i = range.first; i <= range.last; ++i) report.suspects.push_back(describe_commit(i));
    }
    for (std::size_t i = 0; i <= last_; ++i) {
      if (search_.count_runs(i) > 0) report.measured.push_back(describe_commit(i));
    }
    for (const auto& [commit, reason] : skipped_) {
      report.skipped.push_back({options_.commits[commit].hash, options_.commits[commit].subject, reason});
    }
    return report;
  }

  const BisectOptions& options_;
  const BenchCase item_;  // without a commit
  std::optional<FolderLock> lock_;
  Suite suite_;
  std::string sweep_;
  std::size_t last_;
  ChangeSearch search_;
  ResponseMeasure measure_;
  std::string unit_;
  std::map<std::size_t, BenchProgram> programs_;  // of built commits
  std::map<std::size_t, std::string> skipped_;    // reasons
  std::int64_t position_ = 0;
};

}  // namespace

BisectReport run_bisect(const BisectOptions& options) { return Bisect(options).run(); }

}  // namespace ptrain
