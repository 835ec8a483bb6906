// Random weights that no pass can take for a start.
#pragma once

#include "core/base/rng.h"
#include "core/exec/variables.h"
#include "core/model/model.h"
#include "core/runtime/weights.h"

#include <algorithm>

namespace ptrain::testing {

/// Weights as training leaves them: no norm is the identity, no matrix zero, and running statistics differ from their
/// start, but let signals through.
inline void disturb(const Model& model, Variables& variables) {
  initialize_variables(model, variables, 3);
  for (const ModelVariable& variable : model.variables()) {
    std::vector<float> values = variables.read_f32(variable.name);
    const bool is_zero = std::ranges::all_of(values, [](float value) { return value == 0; });
    const bool is_constant = variable.files.empty();
    if (is_weight_matrix(variable.shape) && (!is_zero || is_constant)) continue;
    const RandomStream random{5, 0, static_cast<std::uint32_t>(variable.name.size())};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float drawn = random.uniform(i);
      values[i] = variable.name.ends_with(".running_var") ? 0.5f + drawn : values[i] + 0.4f * (drawn - 0.5f);
    }
    variables.write(variable.name, values.data(), values.size() * sizeof(float));
  }
}

}  // namespace ptrain::testing
