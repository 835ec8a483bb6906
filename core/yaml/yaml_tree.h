// Parses the part of YAML that a configuration uses into a tree with line numbers: mappings, lists and scalars.
// Anchors, aliases, tags, repeated keys, several documents and deep nesting are rejected, so that the cost of any input
// is bounded by its size.
#pragma once

#include "core/config/yaml_value.h"

#include <string_view>

namespace ptrain {

/// Parses one document whose top level is a mapping. Messages use `name` for the file. Throws Error{usage}: "NAME:LINE:
/// what is wrong".
YamlValue parse_yaml(std::string_view text, std::string_view name);

}  // namespace ptrain
