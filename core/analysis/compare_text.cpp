// A comparison as text and as markdown.
#include "core/analysis/compare.h"
#include "core/analysis/markdown.h"
#include "core/analysis/quality.h"
#include "core/analysis/remark_list.h"
#include "core/base/counted.h"
#include "core/base/text_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  const auto format_side = [&](double mean, double stdev) {
    return fmt::format("{:.{}f}{}", mean, digits, stdev > 0 ? fmt::format(" ± {:.{}f}", stdev, digits) : "");
  };
  text += fmt::format(" {} -> {}", format_side(a.base, a.base_stdev), format_side(a.changed, a.changed_stdev));
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

/// "base has 6 records, new has 5"; empty where they have as many, or where one has none, which its reason says.
std::string describe_missing_records(const CaseComparison& item) {
  const std::int64_t base = item.base_runs.runs, changed = item.changed_runs.runs;
  if (base == changed || base == 0 || changed == 0) return {};
  const std::string unpaired = item.speed.paired ? ": runs without a pair are left out" : "";
  return fmt::format("base has {}, new has {}{}", counted(base, "record"), changed, unpaired);
}

/// When the runs of both sides were measured.
std::string format_spans(const Comparison& comparison) {
  MeasuredSpan before, after;
  for (const CaseComparison& item : comparison.cases) {
    if (item.base) before.add(item.base->started);
    if (item.changed) after.add(item.changed->started);
  }
  if (before.first.empty() || after.first.empty()) return {};
  return fmt::format("measured: base {}; new {}", before.text(), after.text());
}

/// Leaves hashes out, which tell a reader nothing, and both values where nothing else differs.
void hide_hashes(Difference& d) {
  constexpr std::string_view begin = " fnv1a64:";
  constexpr std::size_t digits = 16;
  for (std::string* text : {&d.base, &d.changed}) {
    for (std::size_t at = text->find(begin); at != std::string::npos; at = text->find(begin)) {
      text->erase(at, begin.size() + digits);
    }
  }
  if (d.base == d.changed) d.base = d.changed = "";
}

/// "differs: environment.libraries.oneDNN: 2.6 -> 3.2"
std::string format_difference(const Difference& d, const CompareRule& rule) {
  if (d.base.empty() && d.changed.empty()) return "differs: " + d.what;
  return fmt::format("{} {}: {} -> {}", rule.allows(d.kind) ? "differs:" : "differs, not allowed:", d.what, d.base,
                     d.changed);
}

/// All lines below the table.
std::vector<std::string> collect_lines(const Comparison& comparison) {
  std::vector<std::string> lines = comparison_remarks(comparison);
  for (const Difference& d : comparison_differences(comparison)) {
    lines.push_back(format_difference(d, comparison.rule));
  }
  return lines;
}

}  // namespace

std::string comparison_headline(const Comparison& comparison) {
  return fmt::format("{} at a threshold of {:g} %; {}", to_string(comparison.verdict()),
                     comparison.rule.speed.threshold_percent, comparison.summary());
}

ComparisonTable comparison_table(const Comparison& comparison) {
  const std::string column = choose_quality_column(comparison);
  ComparisonTable table{{"Case", "Verdict", choose_step_title(comparison), "Speed", "Runs", "Memory", column}, {}};
  for (const CaseComparison& item : comparison.cases) {
    table.rows.push_back({item.name, std::string(to_string(item.speed.verdict)), format_step(item), format_speed(item),
                          format_runs(item), format_memory(item), format_accuracy(item, column)});
  }
  return table;
}

std::vector<std::string> comparison_remarks(const Comparison& comparison) {
  std::vector<std::string> lines = comparison.notes;
  RemarkList remarks(comparison.cases.size());
  for (const CaseComparison& item : comparison.cases) {
    const bool more = item.failures() != FailureVerdict::not_more;
    const std::string failures = failures_text(item.base_runs, item.changed_runs);
    remarks.add(item.name, (more ? "MORE FAILURES: " : "") + failures);
    remarks.add(item.name, describe_missing_records(item));
    remarks.add(item.name, item.speed.reason);
    remarks.add(item.name, item.accuracy.reason.empty() ? "" : "accuracy: " + item.accuracy.reason);
    if (item.target) remarks.add(item.name, format_target(*item.target));
  }
  for (const std::string& line : remarks.lines()) lines.push_back(line);
  const bool separate = std::any_of(comparison.cases.begin(), comparison.cases.end(), [](const CaseComparison& item) {
    return item.speed.runs > 0 && !item.speed.paired;
  });
  if (separate) {
    lines.emplace_back(
        "the two were not interleaved: a change of the machine cannot be distinguished from one of the program");
  }
  if (const std::string spans = format_spans(comparison); !spans.empty()) lines.push_back(spans);
  return lines;
}

std::vector<Difference> comparison_differences(const Comparison& comparison) {
  std::vector<Difference> all;
  for (const CaseComparison& item : comparison.cases) {
    for (Difference d : item.differences) {
      hide_hashes(d);
      if (std::find(all.begin(), all.end(), d) == all.end()) all.push_back(d);
    }
  }
  return all;
}

std::string comparison_text(const Comparison& comparison) {
  ComparisonTable table = comparison_table(comparison);
  for (std::string& title : table.titles) title = in_a_sentence(title);
  table.rows.insert(table.rows.begin(), table.titles);
  constexpr Align left = Align::left, right = Align::right;
  std::string text = comparison_headline(comparison) + "\n\n" +
                     align_columns(table.rows, {left, left, right, right, right, right, left});
  for (const std::string& line : collect_lines(comparison)) text += line + "\n";
  return text;
}

std::string comparison_markdown(const Comparison& comparison) {
  const ComparisonTable table = comparison_table(comparison);
  std::string text = fmt::format("**{}**\n\n| {} |\n| --- | --- | ---: | ---: | ---: | ---: | --- |\n",
                                 comparison_headline(comparison), fmt::join(table.titles, " | "));
  for (const std::vector<std::string>& row : table.rows) {
    text += fmt::format("| {} | **{}** |", markdown_cell(row[0]), row[1]);
    for (std::size_t i = 2; i < row.size(); ++i) text += fmt::format(" {} |", row[i]);
    text += "\n";
  }
  for (const std::string& line : collect_lines(comparison)) text += fmt::format("\n- {}", line);
  return text + "\n";
}

}  // namespace ptrain
