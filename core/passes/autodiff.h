// Reverse-mode differentiation: gradients become nodes of the same graph.
#pragma once

#include "core/graph/graph.h"

#include <functional>
#include <string_view>

namespace ptrain {

struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;         // same descriptor as the parameter, or [n, H] of some rows
  ValueId rows = no_value;  // i32 [n], which rows these are; see SparseGradient
};

struct Differentiated {
  Graph graph;
  std::vector<ParameterGradient> gradients;  // in the order backward finishes them
};

/// Where backward starts: the gradient that arrives at a value.
struct GradientSeed {
  ValueId value;
  ValueId gradient;
};

/// Appends the backward nodes of every parameter that leads to a seeded value; given `trains`, of those alone whose
/// names it takes: what only others need is not computed.
Differentiated differentiate(Graph graph, const std::vector<GradientSeed>& seeds,
                             const std::function<bool(std::string_view)>& trains = {});

}  // namespace ptrain
