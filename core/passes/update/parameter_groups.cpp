#include "core/passes/update/parameter_groups.h"

#include "core/base/errors.h"

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

int pattern_distance(std::string_view pattern, std::string_view name) {
  std::vector<int> last(name.size() + 1), row(name.size() + 1);
  for (std::size_t j = 0; j <= name.size(); ++j) last[j] = static_cast<int>(j);
  for (const char wanted : pattern) {
    const bool any = wanted == '*';
    row[0] = last[0] + (any ? 0 : 1);
    for (std::size_t j = 1; j <= name.size(); ++j) {
      const bool equal = wanted == '?' || wanted == name[j - 1];
      row[j] =
          any ? std::min(last[j], row[j - 1]) : std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (equal ? 0 : 1)});
    }
    std::swap(last, row);
  }
  return last[name.size()];
}

std::string_view master_name(std::string_view parameter) { return parameter.substr(0, parameter.rfind('@')); }

std::optional<std::size_t> find_group(const std::vector<ParameterGroup>& groups, std::string_view parameter) {
  const std::string_view name = master_name(parameter);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (pattern_distance(groups[i].pattern, name) == 0) return i;
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
    const bool matches = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return pattern_distance(group.pattern, name) == 0;
    });
    if (matches) continue;
    fail_usage("train.groups.match: \"{}\" matches no parameter of the model; nearest: {}", group.pattern,
               fmt::join(find_nearest_names(group.pattern, names), ", "));
  }
  const bool any =
      std::any_of(names.begin(), names.end(), [&](const std::string& n) { return is_trainable(groups, n); });
  if (!any) fail_usage("train.groups.trainable: false for every parameter of the model: nothing is left to train");
}

}  // namespace ptrain
