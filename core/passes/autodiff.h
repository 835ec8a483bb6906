// Reverse-mode differentiation: gradients become nodes of the same graph.
#pragma once

#include "core/graph/graph.h"

namespace ptrain {

struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;  // same descriptor as the parameter
};

struct Differentiated {
  Graph graph;
  std::vector<ParameterGradient> gradients;  // in the order backward finishes them
};

/// Appends the backward nodes of `loss` (an f32 scalar), starting from `factor` times the loss scale when `loss_scale`
/// (an f32[4] state, see LossScaleState) is given. Throws std::logic_error when a parameter gets no gradient.
Differentiated differentiate(Graph graph, ValueId loss, float factor, ValueId loss_scale = no_value);

}  // namespace ptrain
