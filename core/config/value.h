// Converts a user's value for one key to checked JSON.
#pragma once

#include "core/config/keys.h"
#include "core/config/yaml_value.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace ptrain {

/// Converts `value` to JSON of the key's type, within its range and choices. Throws Error{usage}: "WHERE: KEY: expected
/// ..., got ...".
nlohmann::json check_value(const Key& key, const YamlValue& value, std::string_view where);

/// The same for text from a command line or the environment: lists are "a,b" or "[a, b]", texts are taken as they are.
nlohmann::json check_text(const Key& key, std::string_view text, std::string_view where);

}  // namespace ptrain
