// A comparison as text, as markdown and as JSON.
#include "core/analysis/compare.h"
#include "core/report/schema_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

using nlohmann::json;

/// "+3.1 % (+2.4 to +3.9)"
std::string range_text(const Interval& percent) {
  const std::string value = fmt::format("{:+.1f} %", percent.estimate);
  return percent.bounded ? fmt::format("{} ({:+.1f} to {:+.1f})", value, percent.lower, percent.upper) : value;
}

std::string step_text(const CaseComparison& item) {
  return item.speed.runs == 0 ? "-" : range_text(item.speed.percent);
}

std::string memory_text(const CaseComparison& item) {
  return item.memory_percent ? fmt::format("{:+.1f} %", *item.memory_percent) : "-";
}

std::string accuracy_text(const CaseComparison& item) {
  const AccuracyChange& a = item.accuracy;
  if (a.verdict == AccuracyVerdict::not_measured) return "-";
  return fmt::format("{} {:.4f} -> {:.4f} ({:+.4f} to {:+.4f})", name_of(a.verdict), a.base, a.changed, a.lower,
                     a.upper);
}

std::string runs_text(const CaseComparison& item) {
  return fmt::format("{} {}", item.speed.runs, item.speed.paired ? "pairs" : "of each");
}

/// Every reason and difference, one line each.
std::vector<std::string> remarks(const Comparison& comparison) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  for (const CaseComparison& item : comparison.cases) {
    if (!item.speed.reason.empty()) add(fmt::format("{}: {}", item.name, item.speed.reason));
    if (!item.accuracy.reason.empty()) add(fmt::format("{}: accuracy: {}", item.name, item.accuracy.reason));
  }
  for (const CaseComparison& item : comparison.cases) {
    for (const Difference& d : item.differences) {
      const bool refused = d.kind != DifferenceKind::note && !comparison.rule.allowed.contains(d.kind);
      add(fmt::format("{} {}: {} -> {}", refused ? "differs, not allowed:" : "differs:", d.what, d.base, d.changed));
    }
    const bool separate = item.speed.runs > 0 && !item.speed.paired;
    if (separate) {
      add("the two were not interleaved: what the machine did between them cannot be told from what the program did");
    }
  }
  return lines;
}

json interval_json(const Interval& i) {
  return {{"estimate", i.estimate},
          {"lower", i.bounded ? json(i.lower) : json(nullptr)},
          {"upper", i.bounded ? json(i.upper) : json(nullptr)}};
}

json case_json(const CaseComparison& item) {
  json differences = json::array();
  for (const Difference& d : item.differences) {
    differences.push_back({{"kind", name_of(d.kind)}, {"what", d.what}, {"base", d.base}, {"new", d.changed}});
  }
  return {{"case", item.name},
          {"verdict", name_of(item.speed.verdict)},
          {"step_time_percent", interval_json(item.speed.percent)},
          {"mean_step_percent", interval_json(item.speed.stalls)},
          {"paired", item.speed.paired},
          {"runs", item.speed.runs},
          {"more_runs", item.speed.more_runs},
          {"reason", item.speed.reason},
          {"memory_percent", item.memory_percent ? json(*item.memory_percent) : json(nullptr)},
          {"accuracy",
           {{"verdict", name_of(item.accuracy.verdict)},
            {"base", item.accuracy.base},
            {"new", item.accuracy.changed},
            {"lower", item.accuracy.lower},
            {"upper", item.accuracy.upper},
            {"reason", item.accuracy.reason}}},
          {"refused", item.refused},
          {"differences", differences}};
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::size_t width = 4;
  for (const CaseComparison& item : comparison.cases) width = std::max(width, item.name.size());
  std::string text = fmt::format("{:<{}}  {:<12}  {:>26}  {:>9}  {:>8}  {}\n", "case", width, "verdict",
                                 "step time, change", "runs", "memory", "top-1");
  for (const CaseComparison& item : comparison.cases) {
    text += fmt::format("{:<{}}  {:<12}  {:>26}  {:>9}  {:>8}  {}\n", item.name, width, name_of(item.speed.verdict),
                        step_text(item), runs_text(item), memory_text(item), accuracy_text(item));
  }
  for (const std::string& line : remarks(comparison)) text += fmt::format("{}\n", line);
  return text;
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string text =
      "| Case | Verdict | Step time, change | Runs | Memory | Top-1 |\n| --- | --- | ---: | ---: | ---: | --- |\n";
  for (const CaseComparison& item : comparison.cases) {
    text += fmt::format("| {} | **{}** | {} | {} | {} | {} |\n", item.name, name_of(item.speed.verdict),
                        step_text(item), runs_text(item), memory_text(item), accuracy_text(item));
  }
  for (const std::string& line : remarks(comparison)) text += fmt::format("\n- {}", line);
  return text + "\n";
}

json to_json(const Comparison& comparison) {
  json cases = json::array();
  for (const CaseComparison& item : comparison.cases) cases.push_back(case_json(item));
  return {{"schema", "ptrain.comparison/1"},
          {"base", comparison.base},
          {"new", comparison.changed},
          {"threshold_percent", comparison.rule.speed.threshold_percent},
          {"confidence", comparison.rule.speed.confidence},
          {"accuracy_margin", comparison.rule.accuracy_margin},
          {"exit_code", static_cast<int>(comparison.outcome())},
          {"cases", cases}};
}

json comparison_schema() {
  using namespace schema;  // NOLINT(google-build-using-namespace)
  const json interval = object_of(
      {{"estimate", number("")}, {"lower", maybe_number("null: too few runs")}, {"upper", maybe_number("")}}, "");
  const json accuracy = object_of({{"verdict", choice({"not measured", "NOT WORSE", "WORSE", "INCONCLUSIVE"}, "")},
                                   {"base", number("mean top-1")},
                                   {"new", number("")},
                                   {"lower", number("of the interval of new - base")},
                                   {"upper", number("")},
                                   {"reason", text("")}},
                                  "");
  const json difference = object_of({{"kind", choice({"hardware", "config", "data", "note"}, "")},
                                     {"what", text("")},
                                     {"base", text("")},
                                     {"new", text("")}},
                                    "");
  const json one_case = object_of({{"case", text("")},
                                   {"verdict", choice({"SAME", "FASTER", "SLOWER", "INCONCLUSIVE"}, "")},
                                   {"step_time_percent", interval},
                                   {"mean_step_percent", interval},
                                   {"paired", typed("boolean", "from interleaved pairs")},
                                   {"runs", count("pairs, or runs of the smaller side")},
                                   {"more_runs", count("that would probably decide")},
                                   {"reason", text("")},
                                   {"memory_percent", maybe_number("")},
                                   {"accuracy", accuracy},
                                   {"refused", typed("boolean", "for a difference that was not allowed")},
                                   {"differences", list_of(difference, "")}},
                                  "");
  return document("ptrain.comparison/1",
                  {{"base", text("")},
                   {"new", text("")},
                   {"threshold_percent", number("")},
                   {"confidence", number("")},
                   {"accuracy_margin", number("")},
                   {"exit_code", count("0, 4 or 5")},
                   {"cases", list_of(one_case, "")}},
                  "Whether a second set of runs is as fast and as accurate as a first.");
}

}  // namespace ptrain
