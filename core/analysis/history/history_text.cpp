// A history as text and as markdown.
#include "core/analysis/history/history.h"
#include "core/analysis/markdown.h"
#include "core/analysis/quality.h"
#include "core/base/text_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ptrain {
namespace {

/// "+3.1", with one decimal; what rounds to 0 is "+0.0".
std::string signed_text(double value) { return fmt::format("{:+.1f}", std::round(10 * value) / 10 + 0.0); }

std::string format_day(const std::string& time) { return time.substr(0, 10); }

std::string format_changes(const HistorySeries& series) {
  if (!series.decided()) return "too few points";
  if (!series.varies) return "constant";
  std::vector<std::string> sizes;
  for (const HistoryChange& change : series.changes) {
    sizes.push_back(fmt::format("{} from {} on", size_text(series, change), change.after));
  }
  return sizes.empty() ? "no change" : fmt::format("{}", fmt::join(sizes, "; "));
}

/// Series that are too short, grouped by their number of points, with the number needed.
std::vector<std::string> list_shortfalls(const History& history) {
  std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> counts;
  for (const HistorySeries& series : history.series) {
    if (!series.decided()) ++counts[{series.points.size(), series.fewest}];
  }
  std::vector<std::string> lines;
  for (const auto& [of, count] : counts) {
    lines.push_back(
        fmt::format("{} series of {}: too few points to distinguish a change from noise, at least {} are needed", count,
                    of.first, of.second));
  }
  return lines;
}

/// The table for a terminal.
std::string align_table(HistoryTable table) {
  for (std::string& title : table.titles) title = in_a_sentence(title);
  constexpr Align left = Align::left, right = Align::right;
  table.rows.insert(table.rows.begin(), table.titles);
  return align_columns(table.rows, {left, left, right, right, right, right, right, left});
}

}  // namespace

std::vector<std::span<const HistorySeries>> group_series(const History& history) {
  std::vector<std::span<const HistorySeries>> groups;
  const std::span<const HistorySeries> all = history.series;
  std::size_t first = 0;
  for (std::size_t i = 1; i <= all.size(); ++i) {
    if (i < all.size() && all[i].suite == all[first].suite && all[i].machine == all[first].machine) continue;
    groups.push_back(all.subspan(first, i - first));
    first = i;
  }
  return groups;
}

std::string group_title(std::span<const HistorySeries> group) {
  const HistoryPoint *first = &group.front().points.front(), *last = first;
  std::size_t most = 0;
  for (const HistorySeries& series : group) {
    if (series.points.front().measured < first->measured) first = &series.points.front();
    if (series.points.back().measured > last->measured) last = &series.points.back();
    most = std::max(most, series.points.size());
  }
  return fmt::format("{} on {}: {} points, {} ({}) to {} ({})", group.front().suite, group.front().machine, most,
                     first->label, format_day(first->measured), last->label, format_day(last->measured));
}

std::string value_text(const HistorySeries& series, const HistoryPoint& point) {
  switch (series.response) {
    case Response::throughput:
    case Response::mean_throughput:
      return fmt::format("{:.1f} {}", point.value, series.unit);
    case Response::memory:
      return fmt::format("{:.0f} {}", point.value, series.unit);
    case Response::accuracy:
      return series.metric ? series.metric->value_text(point.value) : fmt::format("{:.4f}", point.value);
    case Response::time_to_accuracy:
      return fmt::format("{:.1f} s", point.value);
  }
  return {};
}

std::vector<std::string> list_changes(std::span<const HistorySeries> group) {
  std::vector<std::string> worse, others;
  for (const HistorySeries& series : group) {
    for (auto change = series.changes.rbegin(); change != series.changes.rend(); ++change) {
      (&*change == series.regression() ? worse : others).push_back(change_text(series, *change));
    }
  }
  worse.insert(worse.end(), others.begin(), others.end());
  return worse;
}

HistoryTable history_table(std::span<const HistorySeries> group) {
  HistoryTable table{
      {"Case", "Figure", "Points", "First", "Latest", "Against the first", "Against the one before", "Changes"}, {}};
  for (const HistorySeries& series : group) {
    const HistoryPoint &first = series.points.front(), &latest = series.points.back();
    const HistoryPoint& before = series.points[series.points.size() - std::min<std::size_t>(2, series.points.size())];
    table.rows.push_back({series.case_name, series.figure(), std::to_string(series.points.size()),
                          value_text(series, first), value_text(series, latest), difference_text(series, first, latest),
                          difference_text(series, before, latest), format_changes(series)});
  }
  return table;
}

std::string difference_text(const HistorySeries& series, const HistoryPoint& from, const HistoryPoint& to) {
  if (series.in_points()) return signed_text(100 * (to.value - from.value)) + " points";
  return from.value == 0 ? "" : signed_text(100 * (to.value / from.value - 1)) + " %";
}

std::string size_text(const HistorySeries& series, const HistoryChange& change) {
  const char* unit = series.in_points() ? "points" : "%";
  std::string text = fmt::format("{:+.1f} {}", change.size.estimate, unit);
  if (change.size.bounded) text += fmt::format(" ({:+.1f} to {:+.1f})", change.size.lower, change.size.upper);
  return text;
}

std::string change_text(const HistorySeries& series, const HistoryChange& change) {
  const auto at = static_cast<std::size_t>(change.at);
  const std::string differences =
      change.differences.empty() ? "the same program, driver and libraries" : change.differences;
  const char* kind = change.regression ? "REGRESSION" : "improvement";
  return fmt::format("{}: {}: {} {} between {} ({}) and {} ({}): {}{}", kind, series.case_name, series.figure(),
                     size_text(series, change), change.before, format_day(series.points[at - 1].measured), change.after,
                     format_day(series.points[at].measured), differences,
                     change.size.bounded ? "" : "; too few points for an interval");
}

/// ", of top-1 below 0.01", for each metric.
std::string metric_thresholds(const History& history) {
  std::set<std::string> texts;
  const double points = history.rule.accuracy_points;
  for (const HistorySeries& series : history.series) {
    if (!series.metric) continue;
    const std::string least = series.in_points() ? fmt::format("{:g}", points / 100) : fmt::format("{:g} %", points);
    texts.insert(fmt::format(", of {} below {}", series.metric->title, least));
  }
  return fmt::format("{}", fmt::join(texts, ""));
}

std::vector<std::string> remarks(const History& history) {
  std::vector<std::string> lines;
  for (const FailureChange& change : history.failures) {
    lines.push_back(fmt::format("REGRESSION: {}: from {} on {} of {} runs fail, {} of {} before ({})", change.case_name,
                                change.since, change.after.failed, change.after.runs, change.before.failed,
                                change.before.runs, change.after.example));
  }
  for (const LostAccuracy& lost : history.lost) {
    lines.push_back(fmt::format("REGRESSION: {}: from {} on {} of {} good runs have an accuracy, {} of {} before",
                                lost.case_name, lost.since, lost.after, lost.runs_after, lost.before,
                                lost.runs_before));
  }
  const std::vector<std::string> short_ones = list_shortfalls(history);
  lines.insert(lines.end(), short_ones.begin(), short_ones.end());
  std::int64_t after = 0;
  for (const HistorySeries& series : history.series) {
    if (series.decided()) after = std::max(after, series.fewest_after);
  }
  if (after > 0) {
    lines.push_back(fmt::format(
        "change points by E-divisive: {:g} % of histories without a change show one; a change is detected once "
        "{} points after it "
        "exist, later in noisy series",
        100 * history.rule.significance, after));
    lines.push_back(fmt::format("changes below {:g} %{}, are left out", history.rule.threshold_percent,
                                metric_thresholds(history)));
  }
  lines.insert(lines.end(), history.notes.begin(), history.notes.end());
  return lines;
}

std::string history_text(const History& history) {
  std::string text;
  for (const std::span<const HistorySeries> group : group_series(history)) {
    text += group_title(group) + "\n" + align_table(history_table(group));
    for (const std::string& line : list_changes(group)) text += line + "\n";
    text += "\n";
  }
  for (const std::string& line : remarks(history)) text += fmt::format("note: {}\n", line);
  return text;
}

std::string history_markdown(const History& history) {
  std::string text;
  for (const std::span<const HistorySeries> group : group_series(history)) {
    const HistoryTable table = history_table(group);
    text += fmt::format("**{}**\n\n| {} |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n",
                        markdown_cell(group_title(group)), fmt::join(table.titles, " | "));
    for (const std::vector<std::string>& row : table.rows) {
      text += "|";
      for (const std::string& cell : row) text += fmt::format(" {} |", markdown_cell(cell));
      text += "\n";
    }
    for (const std::string& line : list_changes(group)) text += fmt::format("\n- {}", markdown_cell(line));
    text += "\n\n";
  }
  for (const std::string& line : remarks(history)) text += fmt::format("- {}\n", markdown_cell(line));
  return text;
}

}  // namespace ptrain
