#include "core/bench/suite_keys.h"

#include "core/bench/suite.h"

#include <fmt/format.h>

namespace ptrain {
namespace {

using nlohmann::json;

SuiteKey make_text_key(const char* name, const char* help) {
  return {name, help, "text", nullptr, {{"type", "string"}}};
}
SuiteKey make_integer_key(const char* name, const char* help, std::int64_t low, std::int64_t high,
                          const json& fallback) {
  return {name,
          help,
          fmt::format("integer from {} to {}", low, high),
          fallback,
          {{"type", "integer"}, {"minimum", low}, {"maximum", high}}};
}
SuiteKey make_number_key(const char* name, const char* help, double low, double high, const json& fallback) {
  return {name,
          help,
          fmt::format("number from {:g} to {:g}", low, high),
          fallback,
          {{"type", "number"}, {"minimum", low}, {"maximum", high}}};
}
SuiteKey make_bool_key(const char* name, const char* help, bool fallback) {
  return {name, help, "true|false", fallback, {{"type", "boolean"}}};
}
SuiteKey make_settings_key(const char* name, const char* help) {
  return {name, help, "map of dotted keys to values", nullptr, {{"type", "object"}}};
}

std::string_view find_section(const SuiteKey& key) {
  return std::string_view(key.name).substr(0, key.name.find('.') == std::string::npos ? 0 : key.name.find('.') + 1);
}

/// The schema of an object with the keys of a section.
json make_object_schema(std::string_view section) {
  json properties = json::object();
  for (const SuiteKey& key : suite_keys()) {
    if (find_section(key) != section) continue;
    json& property = properties[key.name.substr(section.size())] = key.schema;
    property["description"] = key.help;
    if (!key.fallback.is_null()) property["default"] = key.fallback;
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

}  // namespace

const std::vector<SuiteKey>& suite_keys() {
  static const std::vector<SuiteKey> keys = [] {
    const Suite suite;
    const ConfidenceTarget confidence;
    return std::vector<SuiteKey>{
        make_text_key("name", "folder of the results below results/MACHINE; default: the file's name"),
        make_text_key("about", "purpose, printed above the table"),
        make_text_key("config", "YAML file of the base run, relative to the suite"),
        make_text_key("command",
                      "command for /bin/sh in place of config; {NAME} is replaced by an axis's value, {seed}, "
                      "{repeat} and {folder} by the run's"),
        make_text_key("metric",
                      "what the command's speed is: a regular expression with one group, json:NAME, "
                      "json:FILE#NAME or report:FILE; default: its wall time"),
        make_text_key("unit",
                      "unit of the metric, such as images/s; s, ms or us of a time; default: as the metric "
                      "names it, else 1/s"),
        make_settings_key("set", "keys of the configuration for every case, or values of a command's placeholders"),
        {"axes",
         "keys, or a command's placeholders, each with its values: a case for every combination",
         "map of dotted keys to lists",
         nullptr,
         {{"type", "object"}, {"additionalProperties", {{"type", "array"}, {"minItems", 1}}}}},
        {"cases", "listed cases, instead of axes", "list of maps", nullptr, {{"type", "array"}, {"minItems", 1}}},
        make_text_key("cases.name", "name of the case; required"),
        make_settings_key("cases.set", "keys of the configuration for this case, or values of placeholders"),
        make_text_key("cases.command", "command of this case, in place of a run of the configuration"),
        make_text_key("cases.metric", "default: the suite's"),
        make_text_key("cases.unit", "default: the suite's"),
        make_integer_key("repeats", "fresh processes for each case", 1, 1000, suite.repeats),
        make_integer_key("seed", "seed of the order of runs", 0, 1'000'000'000'000'000, suite.seed),
        make_bool_key("vary_seed", "repeat r trains with the configuration's seed + r, instead of one seed",
                      suite.vary_seed),
        {"published",
         "primary metric that others reached, compared with the mean over seeds",
         "number",
         nullptr,
         {{"type", "number"}}},
        make_integer_key("published_seeds", "training seeds of which the published value is the mean", 1, 1000,
                         PublishedValue{}.seeds),
        make_number_key("timeout_seconds", "time limit of a run", 0.1, 1e6, suite.timeout_seconds),
        {"steady", "when step times count as settled", "map", nullptr, {{"type", "object"}}},
        make_integer_key("steady.most_warmup_steps", "bound of the warm-up; 0: half of the steps", 0, 1'000'000'000,
                         suite.steady.most_warmup_steps),
        make_number_key("steady.drift_percent", "largest change between the halves of the other steps", 0.1, 1000,
                        suite.steady.drift_percent),
        make_bool_key("steady.required", "false: a run counts whatever its drift", suite.steady.required),
        {"confidence", "repeats cases further until their interval is narrow", "map", nullptr, {{"type", "object"}}},
        make_number_key("confidence.target_percent", "half width of the interval of the speed", 0.01, 100,
                        confidence.percent),
        make_integer_key("confidence.most_repeats", "upper bound of the repeats", 1, 1000, 1000)};
  }();
  return keys;
}

std::vector<std::string> suite_key_names(std::string_view section) {
  std::vector<std::string> names;
  for (const SuiteKey& key : suite_keys()) {
    if (find_section(key) == section) names.push_back(key.name.substr(section.size()));
  }
  return names;
}

json suite_schema() {
  json schema = make_object_schema("");
  json& properties = schema["properties"];
  for (const char* section : {"steady", "confidence"}) {
    properties[section].update(make_object_schema(std::string(section) + "."));
  }
  json item = make_object_schema("cases.");
  item["required"] = {"name"};
  properties["cases"]["items"] = item;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "ptrain suite";
  return schema;
}

}  // namespace ptrain
