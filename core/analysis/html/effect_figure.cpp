// The forest plot: the effect of each change of a setting, with its interval.
#include "core/analysis/html/effect_figure.h"
#include "core/analysis/html/charts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ptrain::html {
namespace {

constexpr std::size_t clear_interactions = 8, unclear_interactions = 3;

PointRow make_row(const Effect& effect) {
  const Interval& interval = effect.interval;
  Point point;
  point.value = interval.estimate;
  point.text = fmt::format("{:+.1f}", interval.estimate);
  point.hollow = !is_clear(effect);
  if (interval.bounded) {
    point.lower = interval.lower;
    point.upper = interval.upper;
    point.text += fmt::format(" ({:+.1f} to {:+.1f})", interval.lower, interval.upper);
  }
  point.tip = fmt::format("over {} combinations, n {}", effect.combinations, effect.runs);
  return {fmt::format("{}", fmt::join(effect.changes, " × ")), {point}};
}

}  // namespace

ShownEffects effects_to_show(const EffectsReport& report, Response response) {
  ShownEffects shown;
  std::vector<const Effect*> unclear;
  for (const Effect& effect : report.effects) {
    if (effect.response != response) continue;
    auto& list = effect.changes.size() == 1 ? shown.main : is_clear(effect) ? shown.interactions : unclear;
    list.push_back(&effect);
  }
  const std::size_t all = shown.interactions.size() + unclear.size();
  const bool clear = !shown.interactions.empty();
  if (!clear) shown.interactions = std::move(unclear);
  std::stable_sort(shown.interactions.begin(), shown.interactions.end(), [](const Effect* a, const Effect* b) {
    return std::abs(a->interval.estimate) > std::abs(b->interval.estimate);
  });
  shown.interactions.resize(std::min(shown.interactions.size(), clear ? clear_interactions : unclear_interactions));
  shown.left_out = all - shown.interactions.size();
  return shown;
}

Figure effect_figure(const EffectsReport& report) {
  Figure figure;
  figure.name = "effects";
  figure.title = "What each change does, with its 95 % interval";
  std::size_t left_out = 0;
  bool interactions = false;
  for (const Response response : all_responses) {
    const ShownEffects shown = effects_to_show(report, response);
    if (shown.main.empty()) continue;
    std::vector<PointRow> rows;
    for (const Effect* effect : shown.main) rows.push_back(make_row(*effect));
    if (!shown.interactions.empty()) rows.push_back({"interactions", {}});
    for (const Effect* effect : shown.interactions) rows.push_back(make_row(*effect));
    interactions = interactions || !shown.interactions.empty();
    left_out += shown.left_out;
    const std::string name = format_title(report, response);
    const std::string& unit = shown.main.front()->unit;
    const PointAxis axis{find_range(rows), fmt::format("change, {}", unit), 0.0};
    figure.panels.push_back({fmt::format("{}, {}", name, unit), point_chart(rows, axis, "Effects on " + name)});
  }
  figure.notes.emplace_back("Filled: the interval excludes zero.");
  if (interactions) {
    figure.notes.front() +=
        " A change is the mean over all settings of the other axes; A × B is how much the change B differs under A.";
  }
  if (left_out > 0) {
    figure.notes.push_back(
        fmt::format("{} interactions that are smaller or not clear of zero are not drawn: ptrain "
                    "effects lists them.",
                    left_out));
  }
  figure.notes.insert(figure.notes.end(), report.notes.begin(), report.notes.end());
  return figure;
}

}  // namespace ptrain::html
