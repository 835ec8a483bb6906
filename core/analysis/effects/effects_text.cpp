// Effects as text for a terminal, as markdown and as LaTeX.
#include "core/analysis/effects/effects.h"
#include "core/analysis/latex.h"
#include "core/analysis/markdown.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

std::string format_name(const Effect& effect) { return fmt::format("{}", fmt::join(effect.changes, " x ")); }

std::string format_range(const Effect& effect) {
  if (!effect.interval.bounded) return "-";
  return fmt::format("{:+.2f} to {:+.2f}", effect.interval.lower, effect.interval.upper);
}

/// Column headers of the LaTeX table.
const LatexColumn latex_columns[] = {{"Effect on"},           {"of"},         {"change", true},
                                     {"95 % interval", true}, {"over", true}, {"n", true}};

std::vector<std::string> format_cells(const EffectsReport& report, const Effect& effect) {
  return {format_title(report, effect.response),
          format_name(effect),
          fmt::format("{:+.2f} {}", effect.interval.estimate, effect.unit),
          format_range(effect),
          std::to_string(effect.combinations),
          std::to_string(effect.runs)};
}

}  // namespace

bool is_clear(const Effect& effect) {
  return effect.interval.bounded && (effect.interval.lower > 0 || effect.interval.upper < 0);
}

std::string format_title(const EffectsReport& report, Response response) {
  const bool other = response == Response::accuracy && report.metric && report.metric->kind != MetricKind::fraction;
  if (other) return report.metric->title;
  if (response != Response::throughput) return std::string(to_string(response));
  return fmt::format("{} ({})", to_string(response), spelled_out(report.estimator));
}

std::string effects_text(const EffectsReport& report) {
  std::size_t width = 0;
  for (const Effect& effect : report.effects) width = std::max(width, format_name(effect).size());
  std::string text;
  for (const Response response : all_responses) {
    bool first = true;
    for (const Effect& effect : report.effects) {
      if (effect.response != response) continue;
      if (first) {
        text += fmt::format("effect on {}, {} (95 % interval; runs of each case; * clear of zero)\n",
                            format_title(report, response), effect.unit);
      }
      first = false;
      text += fmt::format("  {:<{}}  {:>+8.2f}  {:>20}  n {}{}\n", format_name(effect), width, effect.interval.estimate,
                          format_range(effect), effect.runs, is_clear(effect) ? "  *" : "");
    }
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string effects_markdown(const EffectsReport& report) {
  std::string text = "|", rule = "|";
  for (const LatexColumn& column : latex_columns) {
    text += fmt::format(" {} |", column.title);
    rule += column.numeric ? " ---: |" : " --- |";
  }
  text += "\n" + rule + "\n";
  for (const Effect& effect : report.effects) {
    text += "|";
    for (const std::string& cell : format_cells(report, effect)) text += fmt::format(" {} |", markdown_cell(cell));
    text += "\n";
  }
  for (const std::string& note : report.notes) text += fmt::format("\n{}\n", note);
  return text;
}

std::string effects_latex(const EffectsReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Effect& effect : report.effects) rows.push_back(format_cells(report, effect));
  std::string text = latex_tabular(latex_columns, rows);
  for (const std::string& note : report.notes) text += fmt::format("% {}\n", markdown_cell(note));
  return text;
}

void Effect::describe(Fields& field) {
  field.choice("response", response, Response::time_to_accuracy, "");
  field("changes", changes, "one: main effect; two: interaction");
  field.one_of("unit", unit, {"%", "points"}, "");
  interval.describe_bounds(field, "lower end of the 95 % interval; null: no interval");
  field("combinations", combinations, "combinations of the other axes that it averages over");
  field("runs", runs, "good runs of the case that has the fewest");
}

}  // namespace ptrain
