// Where parameters and their gradients lie in the flat buffers of add_optimizer, and what ranks divide of these.
#pragma once

#include "core/passes/optimizer.h"

#include <optional>
#include <vector>

namespace ptrain {

/// A parameter that is updated whole, or slice by slice.
struct FlatParameter {
  ValueId parameter;  // what forward reads: fp32 or low precision
  ValueId master;     // fp32
  ValueId gradient;
  ParameterSegment segment;
  std::optional<std::size_t> group;  // for parameters with settings of their own
  bool early;
  bool muon;  // updated by Muon; with Muon, the other parameters use AdamW

  bool low() const { return parameter != master; }
};

/// A parameter that is updated by its sparse gradient.
struct FlatTable {
  ParameterGradient gradient;
  std::int64_t grad_offset;
  std::optional<std::size_t> group;
  bool decay;

  /// Whether the gradient is of this rank's rows alone; it is then an activation, and its norm a part of the whole one.
  bool is_of_own_rows() const { return gradient.used != no_value; }
};

/// Masters follow the model's parameter order, those with a low-precision copy first and Muon's last; gradients follow
/// the order in which backward computes them, or lie as the parameters do of which ranks need slices.
struct FlatLayout {
  std::vector<FlatParameter> parameters;
  std::vector<FlatTable> tables;
  std::int64_t master = 0, low = 0, grad = 0, grad_low = 0;  // elements of the buffers
  std::int64_t second_moments = 0;                           // elements of master that have one, from the first on
  bool divides_masters = false;  // of parameters with low-precision copies, beside their moments
  bool divides_sums = false;     // over micro-batches

  /// Elements of the buffers of which ranks keep slices.
  std::int64_t divided() const { return divides_masters ? low : master; }
  /// Whether all ranks update all of it, while they divide others.
  bool is_rest(const FlatParameter& p) const { return divides_masters && !p.low(); }
};

/// Lays out the parameters that have one of `gradients`, each of which is an activation of its parameter's dtype or a
/// sparse gradient.
FlatLayout lay_out_flat(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                        const OptimizerPassOptions& options);

/// Whether an update needs the norm of all gradients.
bool needs_norm(const OptimizerPassOptions& options);

/// The settings of a group's parameters (none: of all others), and of those that AdamW updates when Muon is chosen.
OptimizerSettings make_settings(const OptimizerPassOptions& options, std::optional<std::size_t> group);
OptimizerSettings make_element_settings(const OptimizerPassOptions& options, std::optional<std::size_t> group);

}  // namespace ptrain
