// A comparison as text and as markdown.
#include "core/analysis/compare.h"
#include "core/analysis/markdown.h"
#include "core/analysis/quality.h"
#include "core/base/counted.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

/// "+3.1 % (+2.4 to +3.9)"
std::string format_range(const Interval& percent) {
  const std::string value = fmt::format("{:+.1f} %", percent.estimate);
  return percent.bounded ? fmt::format("{} ({:+.1f} to {:+.1f})", value, percent.lower, percent.upper) : value;
}

std::string format_step(const CaseComparison& item) {
  return item.speed.runs == 0 ? "-" : format_range(item.speed.percent);
}

/// "79.3 -> 50.6 images/s"
std::string format_speed(const CaseComparison& item) {
  if (!item.base || !item.changed) return "-";
  return fmt::format("{:.1f} -> {:.1f} {}", item.base->speed, item.changed->speed, item.base->unit);
}

/// "10th percentile of step times, change" if all cases use that estimator.
std::string choose_step_title(const Comparison& comparison) {
  const bool typical = std::all_of(comparison.cases.begin(), comparison.cases.end(), [](const CaseComparison& item) {
    return item.estimator == SpeedEstimator::typical_step;
  });
  return typical ? fmt::format("{}, change", spelled_out(SpeedEstimator::typical_step)) : "time per sample, change";
}

std::string format_memory(const CaseComparison& item) {
  return item.memory_percent ? fmt::format("{:+.1f} %", *item.memory_percent) : "-";
}

/// The title of the most frequent primary metric.
std::string choose_quality_column(const Comparison& comparison) {
  std::vector<MetricInfo> metrics;
  for (const CaseComparison& item : comparison.cases) {
    if (item.accuracy.metric) metrics.push_back(*item.accuracy.metric);
  }
  return quality_title(metrics);
}

std::string format_accuracy(const CaseComparison& item, const std::string& column) {
  const AccuracyChange& a = item.accuracy;
  if (a.verdict == AccuracyVerdict::not_measured) return "-";
  std::string text(to_string(a.verdict));
  if (!a.compared) return text;
  const int digits = a.metric->digits(a.base);
  if (a.metric->column() != column) text += " " + a.metric->title;
  text += fmt::format(" {:.{}f} -> {:.{}f}", a.base, digits, a.changed, digits);
  return !a.bounded ? text : fmt::format("{} ({:+.{}f} to {:+.{}f})", text, a.lower, digits, a.upper, digits);
}

std::string format_runs(const CaseComparison& item) {
  return item.speed.paired ? counted(item.speed.runs, "pair") : fmt::format("{} of each", item.speed.runs);
}

/// "time to accuracy 310 s -> 140 s, -55.0 % (-60.1 to -48.2); 1 run missed the target"
std::string format_target(const TargetChange& target) {
  return fmt::format("time to accuracy {:.0f} s -> {:.0f} s, {}{}", target.base, target.changed,
                     format_range(target.percent),
                     target.missed > 0 ? fmt::format("; {} missed the target", counted(target.missed, "run")) : "");
}

/// Every reason and difference, one line each.
std::vector<std::string> collect_remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  for (const std::string& note : comparison.notes) add(note);
  for (const CaseComparison& item : comparison.cases) {
    const std::string failures = failures_text(item.base_runs, item.changed_runs);
    const bool more = item.failures() != FailureVerdict::not_more;
    if (!failures.empty()) add(fmt::format("{}{}: {}", more ? "MORE FAILURES: " : "", item.name, failures));
    if (!item.speed.reason.empty()) add(fmt::format("{}: {}", item.name, item.speed.reason));
    if (!item.accuracy.reason.empty()) add(fmt::format("{}: accuracy: {}", item.name, item.accuracy.reason));
    if (item.target) add(fmt::format("{}: {}", item.name, format_target(*item.target)));
  }
  for (const CaseComparison& item : comparison.cases) {
    for (const Difference& d : item.differences) {
      const bool refused = d.kind != DifferenceKind::note && !comparison.rule.allowed.contains(d.kind);
      add(fmt::format("{} {}: {} -> {}", refused ? "differs, not allowed:" : "differs:", d.what, d.base, d.changed));
    }
    const bool separate = item.speed.runs > 0 && !item.speed.paired;
    if (separate) {
      add("the two were not interleaved: a change of the machine cannot be distinguished from one of the program");
    }
  }
  MeasuredSpan before, after;
  for (const CaseComparison& item : comparison.cases) {
    if (item.base) before.add(item.base->started);
    if (item.changed) after.add(item.changed->started);
  }
  if (!before.first.empty() && !after.first.empty()) {
    add(fmt::format("measured: base {}; new {}", before.text(), after.text()));
  }
  return lines;
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  const std::string column = choose_quality_column(comparison);
  std::size_t width = 4;
  for (const CaseComparison& item : comparison.cases) width = std::max(width, item.name.size());
  std::string text = fmt::format("{:<{}}  {:<12}  {:>26}  {:>26}  {:>9}  {:>8}  {}\n", "case", width, "verdict",
                                 choose_step_title(comparison), "speed", "runs", "memory", in_a_sentence(column));
  for (const CaseComparison& item : comparison.cases) {
    text += fmt::format("{:<{}}  {:<12}  {:>26}  {:>26}  {:>9}  {:>8}  {}\n", item.name, width,
                        to_string(item.speed.verdict), format_step(item), format_speed(item), format_runs(item),
                        format_memory(item), format_accuracy(item, column));
  }
  for (const std::string& line : collect_remarks(comparison)) text += fmt::format("{}\n", line);
  return text;
}

std::string comparison_markdown(const Comparison& comparison) {
  const std::string column = choose_quality_column(comparison);
  std::string text = fmt::format(
      "| Case | Verdict | {} | Speed | Runs | Memory | {} |\n| --- | --- | ---: | ---: | ---: | ---: | --- |\n",
      choose_step_title(comparison), column);
  for (const CaseComparison& item : comparison.cases) {
    text += fmt::format("| {} | **{}** | {} | {} | {} | {} | {} |\n", markdown_cell(item.name),
                        to_string(item.speed.verdict), format_step(item), format_speed(item), format_runs(item),
                        format_memory(item), format_accuracy(item, column));
  }
  for (const std::string& line : collect_remarks(comparison)) text += fmt::format("\n- {}", line);
  return text + "\n";
}

}  // namespace ptrain
