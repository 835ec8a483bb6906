// The part of YAML that a configuration uses, as a tree with line numbers: mappings, lists and scalars. Anchors,
// aliases, tags, repeated keys, several documents and deep nesting are refused, so that no input costs more than its
// own size.
#pragma once

#include "core/config/yaml_value.h"

#include <string_view>

namespace ptrain {

/// Parses one document whose top is a mapping. `name` stands for the file in messages.
/// Throws Error{usage}: "NAME:LINE: what is wrong".
YamlValue parse_yaml(std::string_view text, std::string_view name);

}  // namespace ptrain
