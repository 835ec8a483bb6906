#include "core/bench/ab_comparison.h"

#include "core/analysis/fingerprint.h"
#include "core/base/clock.h"
#include "core/base/errors.h"
#include "core/bench/sweep.h"
#include "core/bench/sweep_identity.h"
#include "core/config/keys.h"
#include "core/io/folder_lock.h"
#include "core/io/run_files.h"
#include "core/report/environment.h"

#include <algorithm>
#include <optional>
#include <random>

namespace ptrain {
namespace {

constexpr const char* base_side = "base";
constexpr const char* new_side = "new";

/// Whether another pair cannot change the verdict.
bool is_clear(const SpeedChange& change, const SpeedRule& rule) {
  const Interval& percent = change.percent;
  if (!percent.bounded || change.verdict == Verdict::inconclusive) return false;
  const bool narrow = percent.half_width() <= rule.threshold_percent / 2;
  const bool past = percent.lower > rule.threshold_percent || percent.upper < -rule.threshold_percent;
  return narrow || past;
}

class AbComparison {
 public:
  AbComparison(const AbComparisonOptions& options, const Catalogs& catalogs)
      : options_(options),
        catalogs_(catalogs),
        sweep_(fmt::format("{} seed {}", utc_time(), options.seed)),
        base_{base_side, {}},
        changed_{new_side, {}} {
    suite_.name = "compare";
    suite_.config = options.config;
    suite_.timeout_seconds = options.timeout_seconds;
    suite_.steady = options.steady;
    suite_.seed = options.seed;
    suite_.cases = {make_case(base_side, options.base), make_case(new_side, options.changed)};
  }

  Comparison run() {
    lock_.emplace(options_.folder);
    if (!options_.fresh && has_records(options_.folder)) {
      fail_usage("{}: contains runs of an earlier comparison; --fresh replaces them, another --out keeps them",
                 options_.folder.string());
    }
    clear_runs(options_.folder);
    describe();
    std::mt19937_64 random(static_cast<std::uint64_t>(options_.seed));
    Comparison comparison{base_side, new_side, options_.rule, {}, {}};
    const Stopwatch watch;
    double longest = 0;
    for (std::int64_t pair = 0;; ++pair) {
      const double started = watch.seconds();
      const bool base_first = (random() & 1) == 0;
      run_side(base_first ? 0 : 1, pair);
      run_side(base_first ? 1 : 0, pair);
      suite_.repeats = pair + 1;
      comparison.cases = {compare_cases(base_, changed_, options_.rule)};
      options_.on_pair(pair + 1, comparison.cases.front());
      longest = std::max(longest, watch.seconds() - started);
      if (is_clear(comparison.cases.front().speed, options_.rule.speed)) break;
      if (watch.seconds() + longest > options_.budget_seconds) break;
    }
    describe();
    return comparison;
  }

 private:
  void describe() const {
    write_suite(suite_, options_.base.program, this_machine(), options_.software, sweep_, options_.folder);
  }

  BenchCase make_case(const char* name, const ComparisonSide& side) const {
    const LoadedConfig loaded = load_config(options_.config, catalogs_, side.overrides);
    BenchCase item = case_of_config(loaded.config, options_.config.string());
    item.name = item.folder = name;
    item.overrides = side.overrides;
    for (const Override& o : side.overrides) item.settings[o.key] = find_key(o.key)->get(loaded.config);
    return item;
  }

  void run_side(std::size_t side, std::int64_t pair) {
    const BenchCase& item = suite_.cases[side];
    BenchRun run = make_bench_run(suite_, item, pair);
    run.folder = options_.folder / "runs" / item.folder / fmt::format("{:02}", pair);
    run.record.position = position_++;
    run.record.sweep = sweep_;
    const auto record = run_once((side == 0 ? options_.base : options_.changed).program, run, options_.stopped);
    if (!record) throw Error(ExitCode::interrupted, "interrupted: no verdict");
    if (record->outcome != RunOutcome::ok && record->outcome != RunOutcome::unstable) {
      fail("the {} side does not run: {}: {}", item.name, to_string(record->outcome), record->message);
    }
    MeasuredRun measured;
    measured.record = *record;
    measured.report_file = run.folder / run_files::report;
    measured.report = read_report(measured.report_file);
    (side == 0 ? base_ : changed_).runs.push_back(std::move(measured));
  }

  const AbComparisonOptions& options_;
  const Catalogs& catalogs_;
  std::optional<FolderLock> lock_;
  const std::string sweep_;
  Suite suite_;
  MeasuredCase base_, changed_;
  std::int64_t position_ = 0;
};

}  // namespace

Comparison run_ab_comparison(const AbComparisonOptions& options, const Catalogs& catalogs) {
  return AbComparison(options, catalogs).run();
}

}  // namespace ptrain
