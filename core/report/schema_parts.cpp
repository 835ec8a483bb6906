#include "core/report/schema_parts.h"

namespace ptrain::schema {

using nlohmann::json;

json typed(const json& type, const std::string& description) { return {{"type", type}, {"description", description}}; }
json text(const std::string& description) { return typed("string", description); }
json count(const std::string& description) {
  return {{"type", "integer"}, {"minimum", 0}, {"description", description}};
}
json amount(const std::string& description) {
  return {{"type", "number"}, {"minimum", 0}, {"description", description}};
}
json maybe_amount(const std::string& description) {
  return {{"type", {"number", "null"}}, {"minimum", 0}, {"description", description}};
}
json number(const std::string& description) { return typed("number", description); }
json maybe_number(const std::string& description) { return typed({"number", "null"}, description); }
json choice(const json& names, const std::string& description) {
  return {{"enum", names}, {"description", description}};
}
json list_of(const json& items, const std::string& description) {
  return {{"type", "array"}, {"items", items}, {"description", description}};
}
json map_of(const json& values, const std::string& description) {
  return {{"type", "object"}, {"additionalProperties", values}, {"description", description}};
}

json object_of(const json& properties, const std::string& description, Nullable nullable) {
  json required = json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", nullable == Nullable::yes ? json{"object", "null"} : json("object")},
          {"description", description},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

json statistics(const std::string& description) {
  return object_of({{"mean", amount("")},
                    {"p50", amount("")},
                    {"p90", amount("")},
                    {"p95", amount("")},
                    {"p99", amount("")},
                    {"stdev", amount("of the sample, n - 1")},
                    {"count", count("values")}},
                   description);
}

json document(const std::string& version, json properties, const std::string& description) {
  properties["schema"] = {{"const", version}};
  json schema = object_of(properties, description);
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = version;
  return schema;
}

}  // namespace ptrain::schema
