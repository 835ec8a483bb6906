// Groups of parameters that a training treats each in its own way.
#pragma once

#include "core/graph/graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The parameters whose names a pattern matches; the first group that matches a parameter has it.
struct ParameterGroup {
  std::string pattern;                     // `*` stands for any letters, `?` for one
  bool trainable = true;                   // false: it keeps its values, and has neither gradient nor moments
  float lr_scale = 1.0f;                   // of the step's learning rate
  std::optional<float> weight_decay = {};  // in place of the optimizer's, where decay applies; none: the optimizer's
};

/// How many letters of `name` have to change until `pattern` matches it; 0 where it does.
int pattern_distance(std::string_view pattern, std::string_view name);

/// The name of what is trained: "w" of a low-precision parameter "w@bf16" too.
std::string_view master_name(std::string_view parameter);

/// The number of a parameter's group; none where no pattern matches its name.
std::optional<std::size_t> find_group(const std::vector<ParameterGroup>& groups, std::string_view parameter);

/// Whether a parameter gets a gradient.
bool is_trainable(const std::vector<ParameterGroup>& groups, std::string_view parameter);

/// Throws Error{usage} where a pattern matches no parameter of the graph, naming those that are nearest to it, or where
/// no parameter is left to train.
void check_groups(const std::vector<ParameterGroup>& groups, const Graph& forward);

}  // namespace ptrain
