// The keys of a suite, each declared once: the reader's messages, their listing and the editor's schema follow.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct SuiteKey {
  std::string name;  // "repeats"; of a section "steady.required", of a listed case "cases.name"
  std::string help;
  std::string takes;        // "text", "integer from 1 to 1000"
  nlohmann::json fallback;  // null: none
  nlohmann::json schema;    // of its value
};

/// In the order of documents.
const std::vector<SuiteKey>& suite_keys();
/// Names of the keys of a section ("steady."), or of the suite itself (""), without the section.
std::vector<std::string> suite_key_names(std::string_view section);
/// JSON Schema (draft 2020-12) of a suite's YAML file.
nlohmann::json suite_schema();

}  // namespace ptrain
