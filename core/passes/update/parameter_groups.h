// Groups of parameters with training settings of their own.
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The parameters whose names match a pattern; a parameter belongs to the first group that matches it.
struct ParameterGroup {
  std::string pattern;                     // as core/base/name_pattern.h
  bool trainable = true;                   // false: frozen, with neither gradient nor moments
  float lr_scale = 1.0f;                   // multiplies the step's learning rate
  std::optional<float> weight_decay = {};  // replaces the optimizer's where decay applies; none: the optimizer's
};

/// The name of the trained parameter: "w" also for a low-precision parameter "w@bf16".
std::string_view master_name(std::string_view parameter);

/// The number of a parameter's group; none where no pattern matches its name.
std::optional<std::size_t> find_group(const std::vector<ParameterGroup>& groups, std::string_view parameter);

/// Whether a parameter gets a gradient.
bool is_trainable(const std::vector<ParameterGroup>& groups, std::string_view parameter);

/// Throws Error{usage} where a pattern matches no parameter of the graph, naming the closest ones, or where no
/// parameter is left to train.
void check_groups(const std::vector<ParameterGroup>& groups, const Graph& forward);

}  // namespace ptrain
