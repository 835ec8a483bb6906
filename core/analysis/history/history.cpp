#include "core/analysis/history/history.h"

#include "core/analysis/history/change_points.h"
#include "core/analysis/quality.h"
#include "core/analysis/speed.h"
#include "core/config/text.h"
#include "core/report/json_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace ptrain {
namespace {

using nlohmann::json;
using Runs = std::vector<const MeasuredRun*>;

/// A case of one sweep.
struct CaseAt {
  const SavedSweep* sweep;
  Runs runs;  // that ended well
};

/// One case's sweeps on one machine under one configuration: a series for each figure.
struct CaseHistory {
  std::string suite, machine, name;
  json work;
  std::vector<CaseAt> at;
};

/// What defines the case's work, without keys at their defaults, so that new keys make no new configuration.
json describe_work(const SuiteCase& item) { return item.work.is_null() ? json(item.config_hash) : item.work; }

using MachineNames = std::map<std::string, std::string>;  // by hash

/// Machines' names, with the hash where two have the same name.
MachineNames make_machine_names(std::span<const SavedSweep> sweeps) {
  std::map<std::string, std::set<std::string>> hashes;
  for (const SavedSweep& sweep : sweeps) hashes[sweep.record.machine.name].insert(sweep.record.machine.hash);
  MachineNames names;
  for (const auto& [name, of] : hashes) {
    for (const std::string& hash : of) names[hash] = of.size() == 1 ? name : fmt::format("{} ({})", name, hash);
  }
  return names;
}

std::string describe_work_change(const json& before, const json& now) {
  std::string text;
  if (!before.is_object() || !now.is_object()) return "config_hash was " + to_text(before) + ", is " + to_text(now);
  std::set<std::string> keys;
  for (const json* side : {&before, &now}) {
    for (const auto& [key, value] : side->items()) keys.insert(key);
  }
  const auto to_value_text = [](const json& of, const std::string& key) {
    return of.contains(key) ? to_text(of.at(key)) : std::string("the default");
  };
  for (const std::string& key : keys) {
    if (to_value_text(before, key) != to_value_text(now, key))
      add_change(text, key, to_value_text(before, key), to_value_text(now, key));
  }
  return text;
}

/// Finds the case's history that `sweep` continues, or adds one.
CaseHistory& find_or_add_history(std::vector<CaseHistory>& cases, const CaseHistory& wanted, const SavedSweep& sweep,
                                 std::vector<std::string>& notes) {
  CaseHistory* earlier = nullptr;
  for (CaseHistory& item : cases) {
    if (item.suite != wanted.suite || item.machine != wanted.machine || item.name != wanted.name) continue;
    if (item.work == wanted.work) return item;
    earlier = &item;
  }
  if (earlier != nullptr) {
    notes.push_back(fmt::format("{}: the configuration changed at {}, which starts a new series: {}", wanted.name,
                                sweep.record.label, describe_work_change(earlier->work, wanted.work)));
  }
  return cases.emplace_back(wanted);
}

std::vector<CaseHistory> collect_case_histories(std::span<const SavedSweep> sweeps, const MachineNames& machines,
                                                std::vector<std::string>& notes) {
  std::vector<CaseHistory> cases;
  for (const SavedSweep& sweep : sweeps) {
    for (const SuiteCase& item : sweep.runs.suite->cases) {
      const MeasuredCase* measured = sweep.runs.find(item.name);
      const Runs runs = measured == nullptr ? Runs{} : measured->ended();
      if (runs.empty()) {
        notes.push_back(fmt::format("{}: {}: no good run", sweep.record.label, item.name));
        continue;
      }
      const CaseHistory wanted{
          sweep.runs.suite->suite, machines.at(sweep.record.machine.hash), item.name, describe_work(item), {}};
      find_or_add_history(cases, wanted, sweep, notes).at.push_back({&sweep, runs});
    }
  }
  std::stable_sort(cases.begin(), cases.end(), [](const CaseHistory& a, const CaseHistory& b) {
    return std::tie(a.suite, a.machine) < std::tie(b.suite, b.machine);
  });
  return cases;
}

Interval estimate_accuracy(const Runs& runs) {
  double sum = 0;
  for (const MeasuredRun* run : runs) sum += *find_primary_metric(*run)->value;
  return {sum / static_cast<double>(runs.size()), 0, 0, false};
}

/// The primary metrics of the case's runs, each once, in the order in which they occur.
std::vector<MetricInfo> find_primary_metrics(const CaseHistory& item) {
  std::vector<MetricInfo> metrics;
  for (const CaseAt& at : item.at) {
    for (const MeasuredRun* run : at.runs) {
      const MetricValue* primary = find_primary_metric(*run);
      const auto is_it = [&](const MetricInfo& known) { return known.name == primary->name; };
      if (primary != nullptr && std::none_of(metrics.begin(), metrics.end(), is_it)) metrics.push_back(*primary);
    }
  }
  return metrics;
}

Interval estimate_memory(const Runs& runs) {
  std::vector<double> mib;
  for (const MeasuredRun* run : runs) mib.push_back(static_cast<double>(run->record.figures->memory_bytes) / (1 << 20));
  return centre_interval(mib, interval_confidence);
}

/// Samples of all runs over their time, which includes what stalls in some runs or steps take.
Interval estimate_mean_throughput(const Runs& runs) {
  double samples = 0, seconds = 0;
  for (const MeasuredRun* run : runs) {
    samples += static_cast<double>(run->record.figures->samples);
    seconds += run->record.figures->seconds;
  }
  return {samples / seconds, 0, 0, false};
}

Runs select_settled(Runs runs) {
  std::erase_if(runs, [](const MeasuredRun* run) { return run->record.outcome != RunOutcome::ok; });
  return runs;
}

/// Runs that have the figure.
Runs select_with_figure(Runs runs, const std::optional<MetricInfo>& metric) {
  std::erase_if(runs, [&](const MeasuredRun* run) {
    const MetricValue* primary = metric ? find_primary_metric(*run) : nullptr;
    return metric && (primary == nullptr || primary->name != metric->name);
  });
  return runs;
}

bool is_speed(Response response) { return response == Response::throughput || response == Response::mean_throughput; }

Interval estimate_value(const Runs& runs, Response response, SpeedEstimator estimator) {
  switch (response) {
    case Response::throughput:
      return speed_interval(runs, estimator);
    case Response::mean_throughput:
      return estimate_mean_throughput(runs);
    case Response::memory:
      return estimate_memory(runs);
    case Response::accuracy:
    case Response::time_to_accuracy:
      break;
  }
  return estimate_accuracy(runs);
}

HistorySeries make_series(const CaseHistory& item, Response response, const std::optional<MetricInfo>& metric,
                          std::vector<const SavedSweep*>& sweeps) {
  HistorySeries series;
  series.suite = item.suite;
  series.machine = item.machine;
  series.case_name = item.name;
  series.response = response;
  series.metric = metric;
  series.unit = is_speed(response)             ? item.at.front().runs.front()->record.figures->unit
                : response == Response::memory ? "MiB"
                                               : "";
  Runs all;
  for (const CaseAt& at : item.at) all.insert(all.end(), at.runs.begin(), at.runs.end());
  const SpeedEstimator estimator = speed_estimator(select_settled(all));
  for (const CaseAt& at : item.at) {
    const Runs runs = is_speed(response) ? select_settled(at.runs) : select_with_figure(at.runs, metric);
    if (runs.empty()) continue;
    const Interval value = estimate_value(runs, response, estimator);
    const BaselineRecord& record = at.sweep->record;
    HistoryPoint point{record.label,
                       record.measured.first,
                       record.commit,
                       value.estimate,
                       {},
                       {},
                       static_cast<std::int64_t>(runs.size())};
    if (value.bounded) {
      point.lower = value.lower;
      point.upper = value.upper;
    }
    series.points.push_back(std::move(point));
    sweeps.push_back(at.sweep);
  }
  const auto differs = [&](const HistoryPoint& point) { return point.value != series.points.front().value; };
  series.varies = std::any_of(series.points.begin(), series.points.end(), differs);
  return series;
}

/// Values on the scale used to find changes.
std::vector<double> scale_values(const HistorySeries& series) {
  std::vector<double> values;
  for (const HistoryPoint& point : series.points) {
    values.push_back(series.in_points() ? point.value : std::log(std::max(point.value, 1e-9)));
  }
  return values;
}

Interval compute_size(std::span<const double> before, std::span<const double> after, const HistorySeries& series) {
  Interval size = rank_sum_interval(before, after, interval_confidence);
  for (double* bound : {&size.estimate, &size.lower, &size.upper}) {
    *bound = 100 * (series.in_points() ? *bound : std::expm1(*bound));
  }
  return size;
}

/// Computes the size of each change, from the level before it to the level after it.
void measure(std::vector<HistoryChange>& changes, std::span<const double> values, const HistorySeries& series) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto first = static_cast<std::size_t>(i == 0 ? 0 : changes[i - 1].at);
    const auto at = static_cast<std::size_t>(changes[i].at);
    const auto last = i + 1 == changes.size() ? values.size() : static_cast<std::size_t>(changes[i + 1].at);
    changes[i].size = compute_size(values.subspan(first, at - first), values.subspan(at, last - at), series);
  }
}

std::vector<HistoryChange> find_changes(const HistorySeries& series, double significance, const HistoryRule& rule) {
  const std::vector<double> values = scale_values(series);
  std::vector<HistoryChange> changes;
  for (const ChangePoint& point : find_change_points(values, significance)) {
    HistoryChange change;
    change.at = static_cast<std::int64_t>(point.at);
    change.p = point.p;
    changes.push_back(change);
  }
  const double least = series.response == Response::accuracy ? rule.accuracy_points : rule.threshold_percent;
  const auto is_smaller = [](const HistoryChange& a, const HistoryChange& b) {
    return std::abs(a.size.estimate) < std::abs(b.size.estimate);
  };
  for (;;) {
    measure(changes, values, series);
    const auto smallest = std::min_element(changes.begin(), changes.end(), is_smaller);
    if (smallest == changes.end() || std::abs(smallest->size.estimate) >= least) return changes;
    changes.erase(smallest);
  }
}

std::string describe_differences(const BaselineRecord& before, const BaselineRecord& after) {
  std::string text;
  if (before.commit != after.commit) {
    add_change(text, "commit", before.commit.empty() ? "unknown" : before.commit,
               after.commit.empty() ? "unknown" : after.commit);
  } else if (before.binary != after.binary) {
    text = "another build of the program";
  }
  const std::string software = software_difference(before.software, after.software);
  return text.empty() || software.empty() ? text + software : text + "; " + software;
}

void describe_changes(HistorySeries& series, const std::vector<const SavedSweep*>& sweeps, const std::string& since) {
  for (HistoryChange& change : series.changes) {
    const BaselineRecord& before = sweeps[static_cast<std::size_t>(change.at) - 1]->record;
    const BaselineRecord& after = sweeps[static_cast<std::size_t>(change.at)]->record;
    change.before = before.label;
    change.after = after.label;
    change.differences = describe_differences(before, after);
    const bool lower_is_better =
        series.response == Response::memory || (series.metric && !series.metric->higher_is_better);
    change.regression = lower_is_better ? change.size.estimate > 0 : change.size.estimate < 0;
    change.counts = since.empty() || after.measured.first >= since;
  }
}

/// Failure changes of every case of a suite on a machine, whatever its configuration.
std::vector<FailureChange> find_failure_changes(std::span<const SavedSweep> sweeps, const MachineNames& machines,
                                                const std::string& since) {
  std::map<std::array<std::string, 3>, std::vector<CountsAt>> histories;
  std::map<std::string, std::string> measured;  // by label
  for (const SavedSweep& sweep : sweeps) {
    measured[sweep.record.label] = sweep.record.measured.first;
    for (const MeasuredCase& item : sweep.runs.cases) {
      histories[{sweep.runs.suite->suite, machines.at(sweep.record.machine.hash), item.name}].push_back(
          {sweep.record.label, count_runs(item)});
    }
  }
  std::vector<FailureChange> changes;
  for (const auto& [key, history] : histories) {
    std::optional<FailureChange> change = find_failure_change(history);
    if (!change || (!since.empty() && measured.at(change->since) < since)) continue;
    std::tie(change->suite, change->machine, change->case_name) = std::tie(key[0], key[1], key[2]);
    changes.push_back(std::move(*change));
  }
  return changes;
}

/// None where as many of the newest baseline's runs have an accuracy as ever.
std::optional<LostAccuracy> find_lost_accuracy(const CaseHistory& item) {
  const auto count = [](const CaseAt& at) {
    return std::ranges::count_if(at.runs, [](const MeasuredRun* run) { return find_primary_metric(*run) != nullptr; });
  };
  const auto share = [&](const CaseAt& at) {
    return static_cast<double>(count(at)) / static_cast<double>(at.runs.size());
  };
  double most = 0;
  for (const CaseAt& at : item.at) most = std::max(most, share(at));
  auto first = item.at.end();
  while (first != item.at.begin() && share(first[-1]) < most) --first;
  if (first == item.at.end() || first == item.at.begin()) return std::nullopt;
  const CaseAt& last = first[-1];
  LostAccuracy lost{item.suite,  item.machine,
                    item.name,   first->sweep->record.label,
                    count(last), static_cast<std::int64_t>(last.runs.size())};
  for (; first != item.at.end(); ++first) {
    lost.after += count(*first);
    lost.runs_after += static_cast<std::int64_t>(first->runs.size());
  }
  return lost;
}

/// When the sweep labelled `label` was measured.
std::string find_time(std::span<const SavedSweep> sweeps, const std::string& label) {
  if (label.empty()) return {};
  std::vector<std::string> labels;
  for (const SavedSweep& sweep : sweeps) {
    if (sweep.record.label == label) return sweep.record.measured.first;
    labels.push_back(sweep.record.label);
  }
  fail_usage("--since: no baseline is named {}{}", shown(label), did_you_mean(label, labels));
}

}  // namespace

std::string HistorySeries::figure() const {
  return metric && metric->kind != MetricKind::fraction ? metric->title : std::string(to_string(response));
}

const HistoryChange* HistorySeries::regression() const {
  return !changes.empty() && changes.back().regression && changes.back().counts ? &changes.back() : nullptr;
}

ExitCode History::outcome() const {
  const auto is_worse = [](const HistorySeries& s) { return s.regression() != nullptr; };
  const auto is_decided = [](const HistorySeries& s) { return s.decided(); };
  if (!failures.empty() || !lost.empty() || std::any_of(series.begin(), series.end(), is_worse))
    return ExitCode::regressed;
  return std::any_of(series.begin(), series.end(), is_decided) ? ExitCode::ok : ExitCode::inconclusive;
}

History find_history(const std::string& folder, std::span<const SavedSweep> sweeps, const HistoryRule& rule) {
  History history{folder, rule, {}};
  const std::string since = find_time(sweeps, rule.since);
  const MachineNames machines = make_machine_names(sweeps);
  std::vector<std::vector<const SavedSweep*>> measured;
  for (const CaseHistory& item : collect_case_histories(sweeps, machines, history.notes)) {
    const std::optional<LostAccuracy> lost = find_lost_accuracy(item);
    if (lost && find_time(sweeps, lost->since) >= since) history.lost.push_back(*lost);
    const auto add = [&](Response response, const std::optional<MetricInfo>& metric) {
      HistorySeries series = make_series(item, response, metric, measured.emplace_back());
      history.series.push_back(std::move(series));
    };
    add(Response::throughput, std::nullopt);
    add(Response::mean_throughput, std::nullopt);
    add(Response::memory, std::nullopt);
    const std::vector<MetricInfo> metrics = find_primary_metrics(item);
    for (const MetricInfo& metric : metrics) add(Response::accuracy, metric);
    if (metrics.size() > 1) {
      history.notes.push_back(fmt::format("{}: the primary metric was {}, then {}: separate series", item.name,
                                          metrics.front().name, metrics.back().name));
    }
  }
  history.failures = find_failure_changes(sweeps, machines, since);
  const auto varying = std::count_if(history.series.begin(), history.series.end(),
                                     [](const HistorySeries& series) { return series.varies; });
  const double significance = rule.significance / static_cast<double>(std::max<std::ptrdiff_t>(varying, 1));
  for (std::size_t i = 0; i < history.series.size(); ++i) {
    HistorySeries& series = history.series[i];
    series.fewest = fewest_points(significance);
    series.fewest_after = fewest_points_after(static_cast<std::int64_t>(series.points.size()), significance);
    if (series.varies) series.changes = find_changes(series, significance, rule);
    describe_changes(series, measured[i], since);
  }
  return history;
}

}  // namespace ptrain
