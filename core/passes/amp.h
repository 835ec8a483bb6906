// Automatic mixed precision: puts casts where Paddle's levels and lists say (O0, O1, O2).
#pragma once

#include "core/base/amp_level.h"
#include "core/graph/graph.h"

#include <set>

namespace ptrain {

struct AmpOptions {
  AmpLevel level = AmpLevel::O0;
  DType dtype = DType::bf16;             // the low precision: bf16 or f16
  std::set<std::string> custom_white;    // op types computed low whatever their class
  std::set<std::string> custom_black;    // op types computed in fp32
  bool kernels_convert_weights = false;  // leave fp32 weights to kernels that convert them (Op::converts_input)
};

struct AmpSummary {
  int casts = 0;
  int low_nodes = 0;  // nodes that compute in the low precision
  int fp32_nodes = 0;
};

struct AmpResult {
  Graph graph;
  AmpSummary summary;
};

/// The suffix of a parameter's low-precision copy (O2): "layer1.0.conv1.weight" -> "layer1.0.conv1.weight@bf16".
std::string low_precision_name(std::string_view parameter, DType dtype);

/// Rewrites a forward graph. In O2 a parameter read in low precision becomes a low-precision parameter named
/// low_precision_name(); its fp32 master stays as a parameter nobody reads until the optimizer pass.
AmpResult apply_amp(const Graph& graph, const AmpOptions& options);

}  // namespace ptrain
