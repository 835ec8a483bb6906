// Reverse-mode differentiation: gradients become nodes of the same graph.
#pragma once

#include "core/graph/graph.h"

#include <functional>
#include <string_view>

namespace ptrain {

struct ParameterGradient {
  ValueId parameter;
  ValueId gradient;         // same descriptor as the parameter, or [n, H] if sparse
  ValueId rows = no_value;  // i32 [n], the rows of a sparse gradient; see SparseGradient
  /// i32 [1], how many rows of a sparse gradient are used, where it is of this rank's rows of a divided table alone
  /// (exchange_unique_rows).
  ValueId used = no_value;
};

struct Differentiated {
  Graph graph;
  std::vector<ParameterGradient> gradients;  // in the order in which backward computes them
};

/// The start of backward: the gradient of a value.
struct GradientSeed {
  ValueId value;
  ValueId gradient;
};

/// Appends the backward nodes of every parameter that a seeded value depends on; with `trains`, only of parameters
/// whose names it accepts.
Differentiated differentiate(Graph graph, const std::vector<GradientSeed>& seeds,
                             const std::function<bool(std::string_view)>& trains = {});

}  // namespace ptrain
