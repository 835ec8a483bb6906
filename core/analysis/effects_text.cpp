// Effects as text for a terminal and as markdown.
#include "core/analysis/effects.h"
#include "core/analysis/markdown.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrain {
namespace {

constexpr Response kResponses[] = {Response::throughput, Response::memory, Response::accuracy};

const char* unit(Response response) { return response == Response::accuracy ? "points" : "%"; }

/// "throughput (typical step)"
std::string name_of_response(const EffectsReport& report, Response response) {
  if (response != Response::throughput) return std::string(name_of(response));
  return fmt::format("{} ({})", name_of(response), name_of(report.estimator));
}

std::string name_of_effect(const Effect& effect) { return fmt::format("{}", fmt::join(effect.changes, " x ")); }

std::string range_text(const Effect& effect) {
  if (!effect.interval.bounded) return "-";
  return fmt::format("{:+.2f} to {:+.2f}", effect.interval.lower, effect.interval.upper);
}

/// Whether the interval says that there is an effect at all.
bool is_clear(const Effect& effect) {
  return effect.interval.bounded && (effect.interval.lower > 0 || effect.interval.upper < 0);
}

}  // namespace

std::string effects_text(const EffectsReport& report) {
  std::size_t width = 0;
  for (const Effect& effect : report.effects) width = std::max(width, name_of_effect(effect).size());
  std::string text;
  for (const Response response : kResponses) {
    bool first = true;
    for (const Effect& effect : report.effects) {
      if (effect.response != response) continue;
      if (first) {
        text += fmt::format("effect on {}, {} (95 % interval; runs of each case; * clear of zero)\n",
                            name_of_response(report, response), unit(response));
      }
      first = false;
      text += fmt::format("  {:<{}}  {:>+8.2f}  {:>20}  n {}{}\n", name_of_effect(effect), width,
                          effect.interval.estimate, range_text(effect), effect.runs, is_clear(effect) ? "  *" : "");
    }
  }
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

std::string effects_markdown(const EffectsReport& report) {
  std::string text =
      "| Effect on | of | change | 95 % interval | over | n |\n| --- | --- | ---: | ---: | ---: | ---: |\n";
  for (const Effect& effect : report.effects) {
    text += fmt::format("| {} | {} | {:+.2f} {} | {} | {} | {} |\n", name_of_response(report, effect.response),
                        markdown_cell(name_of_effect(effect)), effect.interval.estimate, unit(effect.response),
                        range_text(effect), effect.combinations, effect.runs);
  }
  for (const std::string& note : report.notes) text += fmt::format("\n{}\n", note);
  return text;
}

void Effect::describe(Fields& field) {
  std::string unit_name = unit(response);
  field.choice("response", response, Response::accuracy, "");
  field("changes", changes, "one: main effect; two: interaction");
  field.one_of("unit", unit_name, {"%", "points"}, "");
  interval.describe_bounds(field, "of the 95 % interval; null without one");
  field("combinations", combinations, "of the other axes' values it is the mean over");
  field("runs", runs, "good runs of the case that has the fewest");
}

}  // namespace ptrain
