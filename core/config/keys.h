// The single declaration of every configuration key: name, type, default, range, choices, help and the member it sets.
// The parser, command-line overrides, listings, JSON Schema and the report's echo all use this table.
#pragma once

#include "core/config/config.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

enum class KeyType {
  boolean,
  integer,
  number,
  text,
  choice,
  image_size,
  text_list,
  choice_list,
  number_list,
  boolean_list,
  image_size_list
};
/// Whether a value is a list.
constexpr bool is_list(KeyType type) {
  return type == KeyType::text_list || type == KeyType::choice_list || type == KeyType::number_list ||
         type == KeyType::boolean_list || type == KeyType::image_size_list;
}

struct Key {
  std::string name;  // dotted, "train.optimizer.lr"
  KeyType type = KeyType::text;
  std::string help;
  double minimum = -std::numeric_limits<double>::infinity();  // of a number, or of each list item
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::vector<std::string> choices;                              // of a choice, or of each list item
  std::string list_alternative;                                  // a word that a list key accepts instead of a list
  std::string numbered_choice;                                   // the choice that may be followed by a number: cuda:1
  std::vector<std::pair<std::string, std::string>> other_names;  // aliases of a choice, in lower case
  std::string environment;                                       // variable that sets it
  bool required = false;
  bool defines_work = true;  // part of config_hash; false if it does not change the work (output, resume)
  std::function<nlohmann::json(const Config&)> get;
  /// Sets the member from JSON of the key's type, as returned by check_value.
  std::function<void(Config&, const nlohmann::json&)> set;

  Key& between(double low, double high);
  Key& at_least(double low);
  Key& above(double low);
  Key& below(double high);
  Key& one_of(std::vector<std::string> names);
  Key& also_called(std::vector<std::pair<std::string, std::string>> names);
  Key& from_environment(std::string variable);
  Key& must_be_set();
  Key& no_work();
};

/// Every key, in the order of Config's members, without what Catalogs add: the names of models and data sources.
const std::vector<Key>& config_keys();
/// Keys for tests of this program only. They can be set like the others, but are not listed, suggested or in the
/// schema; a configuration's JSON includes them only if they differ from their defaults.
const std::vector<Key>& hidden_keys();
/// The listed keys, then the hidden ones.
const std::vector<Key>& all_keys();
/// Null when there is no key of this name, hidden or not.
const Key* find_key(std::string_view name);
/// Whether some key's name starts with `name` and a dot ("train", "train.optimizer").
bool is_section(std::string_view name);
/// Whether it is a section of list keys only. A file may also write it as rows: a list of mappings, each with an entry
/// for some of these keys.
bool is_table(std::string_view section);
/// Describes the values of this key: "integer from 1 to 65536", "one of O0|O1|O2".
std::string describe(const Key& key);
/// The same for a message: many choices are replaced by their number and the command that lists them.
std::string describe_briefly(const Key& key);

/// The default of the key, from Config{}.
nlohmann::json default_value(const Key& key);
/// The resolved configuration as nested JSON with every listed key, as echoed by reports. It can be parsed back.
nlohmann::json to_json(const Config& config);
/// The keys that define a run's work and their values, by dotted name.
nlohmann::json describe_work(const Config& config);
/// Those of them that differ from their defaults.
nlohmann::json describe_changed_work(const Config& config);
/// "fnv1a64:" and 16 hex digits over the canonical JSON of the keys that define the work (not output.* and resume):
/// runs of equal hash do the same work.
std::string config_hash(const Config& config);
/// JSON Schema (draft 2020-12) of the YAML file, with these keys.
nlohmann::json make_config_schema(const std::vector<Key>& keys);

}  // namespace ptrain
