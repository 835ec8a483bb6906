#include "core/passes/update/parameter_groups.h"

#include "core/base/errors.h"
#include "core/base/name_pattern.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ptrain {
namespace {

std::vector<std::string> list_parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values()) {
    if (value.storage == Storage::parameter) names.push_back(value.name);
  }
  return names;
}

/// The three names closest to the pattern.
std::vector<std::string> find_nearest_names(std::string_view pattern, std::vector<std::string> names) {
  constexpr std::size_t most = 3;
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return pattern_distance(pattern, a) < pattern_distance(pattern, b);
  });
  names.resize(std::min(names.size(), most));
  return names;
}

}  // namespace

std::string_view master_name(std::string_view parameter) { return parameter.substr(0, parameter.rfind('@')); }

std::optional<std::size_t> find_group(const std::vector<ParameterGroup>& groups, std::string_view parameter) {
  const std::string_view name = master_name(parameter);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (matches_pattern(groups[i].pattern, name)) return i;
  }
  return std::nullopt;
}

bool is_trainable(const std::vector<ParameterGroup>& groups, std::string_view parameter) {
  const std::optional<std::size_t> group = find_group(groups, parameter);
  return !group || groups[*group].trainable;
}

void check_groups(const std::vector<ParameterGroup>& groups, const Graph& forward) {
  if (groups.empty()) return;
  const std::vector<std::string> names = list_parameter_names(forward);
  for (const ParameterGroup& group : groups) {
    const bool matches = std::any_of(names.begin(), names.end(),
                                     [&](const std::string& name) { return matches_pattern(group.pattern, name); });
    if (matches) continue;
    fail_usage("train.groups.match: \"{}\" matches no parameter of the model; nearest: {}", group.pattern,
               fmt::join(find_nearest_names(group.pattern, names), ", "));
  }
  const bool any =
      std::any_of(names.begin(), names.end(), [&](const std::string& n) { return is_trainable(groups, n); });
  if (!any) fail_usage("train.groups.trainable: false for every parameter of the model: nothing is left to train");
}

}  // namespace ptrain
