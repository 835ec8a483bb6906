// Patterns of names: `*` matches any characters, `?` a single one; after a leading `!`, a pattern matches what the rest
// of it does not.
#pragma once

#include <string_view>

namespace ptrain {

/// Number of characters of `name` to change until `pattern` (without `!`) matches it; 0 if it matches.
int pattern_distance(std::string_view pattern, std::string_view name);

/// Whether the pattern matches the whole name.
inline bool matches_pattern(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('!')) return pattern_distance(pattern.substr(1), name) != 0;
  return pattern_distance(pattern, name) == 0;
}

}  // namespace ptrain
