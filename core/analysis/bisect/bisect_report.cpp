#include "core/analysis/bisect/bisect_report.h"

#include "core/base/counted.h"
#include "core/config/text.h"

#include <array>

namespace ptrain {
namespace {

const char* get_change_unit(const BisectReport& report) { return report.measure.in_points() ? "points" : "%"; }

/// "throughput changed by -3.1 % (-3.6 to -2.6)"
std::string describe_change(const BisectReport& report) {
  const std::string figure =
      report.measure.metric ? report.measure.metric->title : std::string(to_string(report.measure.response));
  return fmt::format("{} changed by {}", figure, format_change(report));
}

std::string describe_effort(const BisectReport& report) {
  return fmt::format("{} and {} of {}", counted(report.runs, "run"), counted(report.builds, "build"),
                     counted(report.commits, "commit"));
}

std::string describe_answer(const BisectReport& report) {
  const std::string effort = describe_effort(report);
  const std::string sure = fmt::format("{:.1f} % sure", 100 * report.probability);
  switch (report.state) {
    case SearchState::found:
      if (report.suspects.size() == 1) {
        return fmt::format("{} since {}: {}, after {}", describe_change(report), report.suspects.front().text(), sure,
                           effort);
      }
      return fmt::format("{} with one of {} commits, {} to {}, which cannot be told apart: {}, after {}",
                         describe_change(report), report.suspects.size(), report.suspects.front().text(),
                         report.suspects.back().text(), sure, effort);
    case SearchState::no_difference:
      return fmt::format("no difference between the ends: {} differs by {}, within the threshold of {:g} {}, after {}",
                         to_string(report.measure.response), format_change(report), report.threshold_percent,
                         get_change_unit(report), effort);
    case SearchState::comparing_ends:
    case SearchState::searching:
    case SearchState::undecided:
      break;
  }
  if (report.suspects.empty()) {
    return fmt::format("undecided: the ends differ by {}, which is too uncertain after {}", format_change(report),
                       effort);
  }
  return fmt::format("undecided: {}, most likely since {}, but only {}, after {}", describe_change(report),
                     report.suspects.front().text(), sure, effort);
}

}  // namespace

std::string_view to_string(SearchState state) {
  constexpr std::array<std::string_view, 5> names = {"comparing ends", "searching", "found", "no difference",
                                                     "undecided"};
  return names.at(static_cast<std::size_t>(state));
}

std::string short_hash(const std::string& hash) { return hash.substr(0, 10); }

std::string BisectCommit::text() const { return fmt::format("{} {}", short_hash(hash), shown(subject)); }

ExitCode BisectReport::outcome() const { return state == SearchState::found ? ExitCode::ok : ExitCode::inconclusive; }

std::string format_change(const BisectReport& report) {
  if (!report.change) return "an unknown amount";
  return fmt::format("{:+.2f} {} ({:+.2f} to {:+.2f})", report.change->estimate, get_change_unit(report),
                     report.change->lower, report.change->upper);
}

std::string bisect_text(const BisectReport& report) {
  std::string text = describe_answer(report) + "\n";
  for (const BisectCommit& commit : report.measured) {
    text += fmt::format("  {:>9.4g} {} {:>8} {:>5.1f} %  {}\n", commit.value.value_or(0), report.unit,
                        counted(commit.runs, "run"), 100 * commit.probability, commit.text());
  }
  for (const SkippedCommit& one : report.skipped) {
    text += fmt::format("skipped: {}: {}\n", BisectCommit{one.hash, one.subject, 0, 0, {}}.text(), one.reason);
  }
  return text;
}

}  // namespace ptrain
