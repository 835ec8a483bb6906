// The forest plot: the effect of each change of a setting, with its interval.
#pragma once

#include "core/analysis/effects/effects.h"
#include "core/analysis/html/figure.h"

#include <vector>

namespace ptrain::html {

struct ShownEffects {
  std::vector<const Effect*> main, interactions;
  std::size_t left_out = 0;  // number of interactions not shown
};
/// For one response: every main effect, and the eight largest interactions whose interval excludes zero, or the three
/// largest if there is none.
ShownEffects effects_to_show(const EffectsReport& report, Response response);

/// A panel for each response.
Figure effect_figure(const EffectsReport& report);

}  // namespace ptrain::html
