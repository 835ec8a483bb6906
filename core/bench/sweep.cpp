#include "core/bench/sweep.h"

#include "core/analysis/speed.h"
#include "core/analysis/verdict.h"
#include "core/base/errors.h"
#include "core/bench/sweep_identity.h"
#include "core/io/folder_lock.h"
#include "core/report/environment.h"
#include "core/report/json_file.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <optional>
#include <random>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

class Sweep {
 public:
  Sweep(const Suite& suite, const BenchProgram& program, const SweepOptions& options, SweepObserver& observer)
      : suite_(suite), program_(program), options_(options), observer_(observer), cases_(suite.cases.size()) {}

  bool run() {
    open_folder();
    read_kept();
    observer_.on_start(cases_, kept_);
    const std::int64_t rounds = suite_.confidence ? suite_.confidence->most_repeats : suite_.repeats;
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (const std::size_t index : round_order(suite_.seed, round, cases_.size())) {
        if (!needs_run(index, round)) continue;
        if (!run_cases(at_once_with(index, round), round)) return false;
      }
    }
    return true;
  }

 private:
  fs::path run_folder(std::size_t index, std::int64_t repeat) const {
    return options_.folder / "runs" / suite_.cases[index].folder / fmt::format("{:02}", repeat);
  }
  std::int64_t run_seed(std::size_t index, std::int64_t repeat) const {
    return suite_.cases[index].seed + (suite_.vary_seed ? repeat : 0);
  }

  /// Continues the sweep in the folder, or starts one.
  void open_folder() {
    lock_.emplace(options_.folder);
    const fs::path file = options_.folder / "suite.json";
    sweep_ = fmt::format("{} seed {}", utc_time(), suite_.seed);
    if (options_.kept != Kept::none && has_records(options_.folder)) {
      const auto before = read_document<SuiteRecord>(file);
      const std::string difference = sweep_difference(before, suite_, {program_, options_.machine, options_.software});
      if (!difference.empty()) {
        fail_usage("{}: contains runs of another sweep: {}; --fresh replaces them, another --out keeps them",
                   file.string(), difference);
      }
      sweep_ = before.sweep;
    }
    if (options_.kept == Kept::none) clear_runs(options_.folder);
    write_suite(suite_, program_, options_.machine, options_.software, sweep_, options_.folder);
  }

  bool can_keep(const RunRecord& record, std::size_t index, std::int64_t repeat) const {
    const BenchCase& item = suite_.cases[index];
    const bool good = record.outcome == RunOutcome::ok;
    const bool same_work = record.case_name == item.name && record.settings == item.settings &&
                           record.seed == run_seed(index, repeat) && record.config_hash == item.config_hash;
    return same_work && record.sweep == sweep_ && (good || options_.kept == Kept::all);
  }

  void read_kept() {
    const std::int64_t rounds = suite_.confidence ? suite_.confidence->most_repeats : suite_.repeats;
    for (std::size_t index = 0; index < cases_.size(); ++index) {
      cases_[index].planned = suite_.repeats;
      for (std::int64_t repeat = 0; repeat < rounds; ++repeat) {
        const fs::path file = run_folder(index, repeat) / "record.json";
        if (!fs::exists(file)) continue;
        const RunRecord record = read_run_record(file);
        if (!can_keep(record, index, repeat)) continue;
        add(index, record);
        position_ = std::max(position_, record.position + 1);
        ++kept_;
      }
    }
  }

  void add(std::size_t index, const RunRecord& record) {
    CaseProgress& progress = cases_[index];
    const bool failed = record.outcome != RunOutcome::ok && record.outcome != RunOutcome::unstable;
    const bool again = failed && !progress.records.empty() && progress.records.back().outcome == record.outcome;
    progress.records.push_back(record);
    progress.planned = std::max(progress.planned, static_cast<std::int64_t>(progress.records.size()));
    if (again) progress.given_up = true;
  }

  bool needs_run(std::size_t index, std::int64_t round) {
    const CaseProgress& progress = cases_[index];
    const bool there = std::any_of(progress.records.begin(), progress.records.end(),
                                   [&](const RunRecord& r) { return r.repeat == round; });
    if (there || progress.given_up) return false;
    if (round < suite_.repeats) return true;
    const std::vector<const RunFigures*> good = progress.figures();
    if (static_cast<std::int64_t>(good.size()) < fewest_pairs(interval_confidence)) return true;
    const Interval interval = speed_interval(good, SpeedEstimator::typical_step);
    return interval.half_width() / interval.estimate * 100 > suite_.confidence->percent;
  }

  /// `index`, and the cases to run at the same time.
  std::vector<std::size_t> at_once_with(std::size_t index, std::int64_t round) {
    const std::string& group = suite_.cases[index].at_once_with;
    if (group.empty()) return {index};
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (suite_.cases[i].at_once_with == group && needs_run(i, round)) members.push_back(i);
    }
    return members;
  }

  BenchRun prepare_run(std::size_t index, std::int64_t repeat) {
    BenchRun run = make_bench_run(suite_, suite_.cases[index], repeat);
    run.folder = run_folder(index, repeat);
    run.record.position = position_++;
    run.record.sweep = sweep_;
    run.record.seed = run_seed(index, repeat);
    cases_[index].running = true;
    observer_.on_change(cases_, index);
    return run;
  }

  /// Runs the cases at the same time. False when stopped.
  bool run_cases(const std::vector<std::size_t>& indices, std::int64_t repeat) {
    std::vector<std::future<std::optional<RunRecord>>> runs;
    for (const std::size_t index : indices) {
      runs.push_back(
          std::async(indices.size() == 1 ? std::launch::deferred : std::launch::async,
                     [this, run = prepare_run(index, repeat)] { return run_once(program_, run, options_.stopped); }));
    }
    bool all = true;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto record = runs[i].get();
      cases_[indices[i]].running = false;
      all = all && record;
      if (!record) continue;
      add(indices[i], *record);
      observer_.on_change(cases_, indices[i]);
    }
    return all;
  }

  std::optional<FolderLock> lock_;
  const Suite& suite_;
  const BenchProgram& program_;
  const SweepOptions& options_;
  SweepObserver& observer_;
  std::vector<CaseProgress> cases_;
  std::string sweep_;
  std::int64_t position_ = 0;
  std::int64_t kept_ = 0;
};

}  // namespace

std::vector<std::size_t> round_order(std::int64_t seed, std::int64_t round, std::size_t cases) {
  std::vector<std::size_t> order(cases);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed) * 1000003u + static_cast<std::uint64_t>(round));
  for (std::size_t i = cases; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

std::vector<const RunFigures*> CaseProgress::figures() const {
  std::vector<const RunFigures*> good;
  for (const RunRecord& record : records) {
    if (record.outcome == RunOutcome::ok && record.figures) good.push_back(&*record.figures);
  }
  return good;
}

std::vector<std::string> shortages(const Suite& suite) {
  std::vector<std::string> lines;
  const std::int64_t planned = suite.confidence ? suite.confidence->most_repeats : suite.repeats;
  if (const std::string shortage = describe_shortage(planned); !shortage.empty()) lines.push_back(shortage);
  const bool evaluates =
      std::any_of(suite.cases.begin(), suite.cases.end(), [](const BenchCase& item) { return item.evaluates; });
  if (evaluates && suite.repeats > 1 && !suite.vary_seed) {
    lines.emplace_back("accuracy will be measured with one training seed (--seeds N, or vary_seed: true, varies it)");
  }
  return lines;
}

void write_suite(const Suite& suite, const BenchProgram& program, const Fingerprint& machine, const Software& software,
                 const std::string& sweep, const fs::path& folder) {
  SuiteRecord record;
  record.suite = suite.name;
  record.about = suite.about;
  record.config = suite.config.string();
  record.sweep = sweep;
  record.machine = machine;
  record.software = software;
  record.binary = program.hash;
  record.seed = suite.seed;
  record.repeats = suite.repeats;
  for (const BenchAxis& axis : suite.axes) record.axes.push_back({axis.key, axis.label, axis.values});
  for (const BenchCase& item : suite.cases) {
    record.cases.push_back({item.name, item.folder, item.settings, item.config_hash, item.work, item.published});
  }
  write_document(record, folder / "suite.json");
}

void clear_runs(const fs::path& folder) {
  if (!fs::exists(folder / "runs")) return;
  if (!fs::exists(folder / "suite.json")) {
    fail_usage("{}: was not made by a benchmark, so it is not removed (give another --out)",
               (folder / "runs").string());
  }
  fs::remove_all(folder / "runs");
}

bool run_sweep(const Suite& suite, const BenchProgram& program, const SweepOptions& options, SweepObserver& observer) {
  return Sweep(suite, program, options, observer).run();
}

}  // namespace ptrain
