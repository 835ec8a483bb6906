// Automatic mixed precision: inserts casts by Paddle's levels and lists (O0, O1, O2).
#pragma once

#include "core/base/enums.h"
#include "core/graph/graph.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// The name of a class: "white".
std::string_view to_string(AmpClass amp_class);

struct AmpOptions {
  AmpLevel level = AmpLevel::O0;
  DType dtype = DType::bf16;           // the low precision: bf16 or f16
  std::set<std::string> custom_white;  // op types computed in low precision whatever their class
  std::set<std::string> custom_black;  // op types computed in fp32
  bool constant_weights = false;       // they are not trained: copies in low precision also of those read in fp32 too
  /// Parameters, by name, that no update writes: where they are read in low precision alone, they have no fp32 master.
  std::function<bool(std::string_view)> frozen = {};
};

struct AmpSummary {
  int casts = 0;
  int low_nodes = 0;  // nodes that compute in the low precision
  int fp32_nodes = 0;
  std::vector<std::string> absent = {};  // names of custom_white and custom_black that no node has
};

struct AmpResult {
  Graph graph;
  AmpSummary summary;
};

/// The name of a parameter's low-precision copy: "layer1.0.conv1.weight" -> "layer1.0.conv1.weight@bf16".
std::string low_precision_name(std::string_view parameter, DType dtype);

/// Rewrites a forward graph. A parameter read in low precision (O2), and only so (O1, unless weights are constant),
/// becomes a low-precision parameter named low_precision_name(), which saves a cast in every step; its fp32 master
/// stays as a parameter without readers until the optimizer pass, unless it is frozen.
AmpResult apply_amp(const Graph& graph, const AmpOptions& options);

}  // namespace ptrain
