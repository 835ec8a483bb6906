// The pieces that ptrain's own JSON Schemas are made of.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace ptrain::schema {

nlohmann::json typed(const nlohmann::json& type, const std::string& description);
nlohmann::json text(const std::string& description);
nlohmann::json count(const std::string& description);         // integer from 0
nlohmann::json amount(const std::string& description);        // number from 0
nlohmann::json maybe_amount(const std::string& description);  // or null
nlohmann::json number(const std::string& description);
nlohmann::json maybe_number(const std::string& description);
nlohmann::json choice(const nlohmann::json& names, const std::string& description);
nlohmann::json list_of(const nlohmann::json& items, const std::string& description);
nlohmann::json map_of(const nlohmann::json& values, const std::string& description);

enum class Nullable { no, yes };
/// An object all of whose properties are required and no others allowed.
nlohmann::json object_of(const nlohmann::json& properties, const std::string& description, Nullable nullable = {});
/// Of steps, rates or times, as summarize() gives it.
nlohmann::json statistics(const std::string& description);
/// A whole schema: `properties` and "schema", which must be `version`.
nlohmann::json document(const std::string& version, nlohmann::json properties, const std::string& description);

}  // namespace ptrain::schema
