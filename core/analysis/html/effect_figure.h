// The forest plot: what each change of a setting does, with its interval.
#pragma once

#include "core/analysis/effects/effects.h"
#include "core/analysis/html/figure.h"

#include <vector>

namespace ptrain::html {

struct ShownEffects {
  std::vector<const Effect*> main, interactions;
  std::size_t left_out = 0;  // interactions
};
/// Of one response: every main effect, and the eight largest interactions whose interval excludes zero; where there is
/// none, the three largest.
ShownEffects effects_to_show(const EffectsReport& report, Response response);

/// A panel for each response.
Figure effect_figure(const EffectsReport& report);

}  // namespace ptrain::html
