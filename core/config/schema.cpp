// The key table as a JSON Schema, for editors and other tools.
#include "core/config/keys.h"

#include <cctype>
#include <cmath>
#include <string>
#include <vector>

namespace ptrain {
namespace {

using nlohmann::json;

void add_range(json& schema, const Key& key) {
  if (std::isfinite(key.minimum)) schema[key.exclusive_minimum ? "exclusiveMinimum" : "minimum"] = key.minimum;
  if (std::isfinite(key.maximum)) schema[key.exclusive_maximum ? "exclusiveMaximum" : "maximum"] = key.maximum;
}

/// The pattern of `name` in any case, as the program reads it.
std::string make_case_insensitive_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    const auto low = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto high = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    pattern += letter ? std::string{'[', high, low, ']'} : c == '.' ? std::string("\\.") : std::string{c};
  }
  return pattern;
}

/// The choices and their other names.
std::vector<std::string> list_names(const Key& key) {
  std::vector<std::string> names = key.choices;
  for (const auto& [other, choice] : key.other_names) names.push_back(other);
  return names;
}

/// The choices; a choice named true or false may also be a boolean.
json list_spellings(const Key& key) {
  json names = key.choices;
  for (const std::string& choice : key.choices) {
    if (choice == "true" || choice == "false") names.push_back(choice == "true");
  }
  return names;
}

/// Types that are accepted where a key is a text: a label may be a number.
json list_plain_values() { return {"string", "number", "boolean"}; }

/// A side, or two as text; within a list of sizes, also a list.
json make_size_schema(const Key& key, bool listed) {
  json side = {{"type", listed ? "number" : "integer"}};
  add_range(side, key);
  json forms = {side, {{"type", "string"}, {"pattern", "^[1-9][0-9]*x[1-9][0-9]*$"}}};
  if (!listed) forms.push_back({{"type", "array"}, {"items", side}, {"minItems", 2}, {"maxItems", 2}});
  return {{"anyOf", forms}};
}

json make_key_schema(const Key& key) {
  json schema = {{"description", key.help}};
  if (!key.required) schema["default"] = default_value(key);
  json item = json::object();
  switch (key.type) {
    case KeyType::boolean:
      schema["type"] = "boolean";
      break;
    case KeyType::integer:
      schema["type"] = "integer";
      break;
    case KeyType::number:
      schema["type"] = "number";
      break;
    case KeyType::text:
      schema["type"] = list_plain_values();
      break;
    case KeyType::choice:
      schema["anyOf"] = {{{"enum", list_spellings(key)}}};  // what editors offer
      {
        std::string names;
        for (const std::string& name : list_names(key))
          names += (names.empty() ? "" : "|") + make_case_insensitive_pattern(name);
        if (!key.numbered_choice.empty()) names += "|" + make_case_insensitive_pattern(key.numbered_choice) + ":[0-9]+";
        schema["anyOf"].push_back({{"type", "string"}, {"pattern", "^(" + names + ")$"}});
      }
      break;
    case KeyType::image_size:
      schema.update(make_size_schema(key, false));
      return schema;
    case KeyType::text_list:
      item["type"] = list_plain_values();
      break;
    case KeyType::choice_list:
      item["enum"] = list_spellings(key);
      break;
    case KeyType::number_list:
      item["type"] = "number";
      break;
    case KeyType::boolean_list:
      item["type"] = "boolean";
      break;
    case KeyType::image_size_list:
      schema.update({{"type", "array"}, {"items", make_size_schema(key, true)}});
      return schema;
  }
  const bool list = !item.empty();
  add_range(list ? item : schema, key);
  if (list) schema.update({{"type", "array"}, {"items", item}});
  if (!key.list_alternative.empty()) {
    schema["type"] = {"array", "string"};
    schema["pattern"] = "^" + key.list_alternative + "$";
  }
  return schema;
}

/// Returns the schema's properties, created if missing.
json& ensure_properties(json& schema) {
  schema["type"] = "object";
  schema["additionalProperties"] = false;
  return schema["properties"];
}

/// Allows a table to be written as a list of rows.
void allow_rows(json& table) {
  json row = {{"type", "object"}, {"additionalProperties", false}};
  for (const auto& [name, column] : table["properties"].items()) {
    row["properties"][name] = column["items"];
    row["properties"][name]["description"] = column["description"];
  }
  table["type"] = {"object", "array"};
  table["items"] = row;
}

/// Does so for every table below `schema`, the section `name` ("" for the top).
void allow_rows_below(json& schema, const std::string& name) {
  for (auto& [key, below] : schema["properties"].items()) {
    const std::string section = name.empty() ? key : name + "." + key;
    if (!is_section(section)) continue;
    if (is_table(section)) {
      allow_rows(below);
    } else {
      allow_rows_below(below, section);
    }
  }
}

}  // namespace

json make_config_schema(const std::vector<Key>& keys) {
  json root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"title", "ptrain configuration"},
               {"description", "Generated from the key table; choices may be written in any case."}};
  for (const Key& key : keys) {
    json* node = &root;
    std::size_t begin = 0;
    for (std::size_t dot; (dot = key.name.find('.', begin)) != std::string::npos; begin = dot + 1) {
      node = &ensure_properties(*node)[key.name.substr(begin, dot - begin)];
    }
    ensure_properties(*node)[key.name.substr(begin)] = make_key_schema(key);
  }
  allow_rows_below(root, "");
  root["properties"]["base"] = {{"type", "string"},
                                {"description",
                                 "another configuration, relative to this one's folder, whose keys apply "
                                 "unless set here"}};
  return root;
}

}  // namespace ptrain
