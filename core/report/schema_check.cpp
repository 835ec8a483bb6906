#include "core/report/schema_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace ptrain {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "number") return value.is_number();
  if (type == "integer") {
    return value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
  }
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return type == "null" && value.is_null();
}

bool has_any_type(const json& value, const json& types) {
  if (types.is_string()) return has_type(value, types);
  return std::any_of(types.begin(), types.end(), [&](const json& type) { return has_type(value, type); });
}

std::string find_range_problem(const json& value, const json& schema, const std::string& path) {
  if (!value.is_number()) return {};
  const double number = value;
  const bool fits = (!schema.contains("minimum") || number >= schema["minimum"].get<double>()) &&
                    (!schema.contains("maximum") || number <= schema["maximum"].get<double>()) &&
                    (!schema.contains("exclusiveMinimum") || number > schema["exclusiveMinimum"].get<double>()) &&
                    (!schema.contains("exclusiveMaximum") || number < schema["exclusiveMaximum"].get<double>());
  return fits ? std::string() : fmt::format("{}: {} is out of range", path, value.dump());
}

std::string find_problem(const json& value, const json& schema, const std::string& path);

std::string find_object_problem(const json& value, const json& schema, const std::string& path) {
  for (const auto& name : schema.value("required", json::array())) {
    if (!value.contains(name.get<std::string>())) return fmt::format("{}: {} is missing", path, name.dump());
  }
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, child] : value.items()) {
    const std::string child_path = path == "/" ? path + name : path + "/" + name;
    std::string problem;
    if (properties.contains(name)) {
      problem = find_problem(child, properties[name], child_path);
    } else if (schema.contains("additionalProperties")) {
      const json& other = schema["additionalProperties"];
      if (other.is_object()) problem = find_problem(child, other, child_path);
      if (other == false) problem = fmt::format("{}: is not in the schema", child_path);
    }
    if (!problem.empty()) return problem;
  }
  return {};
}

/// "" when the value fits one of the alternatives, else the problem with the last of them.
std::string find_alternatives_problem(const json& value, const json& schema, const std::string& path) {
  std::string problem;
  for (const json& alternative : schema["anyOf"]) {
    problem = find_problem(value, alternative, path);
    if (problem.empty()) return problem;
  }
  return problem;
}

std::string find_problem(const json& value, const json& schema, const std::string& path) {
  if (schema.contains("anyOf")) return find_alternatives_problem(value, schema, path);
  if (schema.contains("type") && !has_any_type(value, schema["type"])) {
    return fmt::format("{}: expected {}, got {}", path, schema["type"].dump(), value.type_name());
  }
  if (schema.contains("const") && value != schema["const"]) {
    return fmt::format("{}: expected {}", path, schema["const"].dump());
  }
  if (schema.contains("enum")) {
    const json& choices = schema["enum"];
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
      return fmt::format("{}: expected one of {}", path, choices.dump());
    }
  }
  if (std::string problem = find_range_problem(value, schema, path); !problem.empty()) return problem;
  if (value.is_object()) return find_object_problem(value, schema, path);
  if (!value.is_array() || !schema.contains("items")) return {};
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::string problem = find_problem(value[i], schema["items"], fmt::format("{}/{}", path, i));
    if (!problem.empty()) return problem;
  }
  return {};
}

}  // namespace

std::string schema_problem(const json& value, const json& schema) { return find_problem(value, schema, "/"); }

}  // namespace ptrain
