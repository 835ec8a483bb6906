// Checks JSON against the part of JSON Schema that ptrain's own schemas use: type, properties, required,
// additionalProperties, anyOf, items, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace ptrain {

/// "" when `value` fits, else the first problem in one line: "/path: what is wrong".
std::string schema_problem(const nlohmann::json& value, const nlohmann::json& schema);

}  // namespace ptrain
