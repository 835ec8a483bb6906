// The one declaration of every configuration key: name, type, default, range, choices, help and the member it sets.
// Parser, command-line overrides, listings, JSON Schema and the report's echo all read this table.
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
  number_list,
  boolean_list,
  image_size_list
};
/// Whether a value is a list.
constexpr bool is_list(KeyType type) {
  return type == KeyType::text_list || type == KeyType::number_list || type == KeyType::boolean_list ||
         type == KeyType::image_size_list;
}

struct Key {
  std::string name;  // dotted, "train.optimizer.lr"
  KeyType type = KeyType::text;
  std::string help;
  double minimum = -std::numeric_limits<double>::infinity();  // of a number, or of each list item
  double maximum = std::numeric_limits<double>::infinity();
  bool exclusive_minimum = false;
  bool exclusive_maximum = false;
  std::vector<std::string> choices;                              // choice keys
  std::string word;                                              // that a list key takes in place of a list
  std::string numbered;                                          // the choice that a number may follow: cuda:1
  std::vector<std::pair<std::string, std::string>> other_names;  // further spellings of a choice, lower case
  std::string environment;                                       // variable that sets it
  bool required = false;
  bool defines_work = true;  // part of config_hash: false where another value makes no other work (output, resume)
  std::function<nlohmann::json(const Config&)> get;
  /// Takes JSON of the key's type, as check_value returns it.
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

/// Every key, in the order of Config's members, but for what Catalogs know: which models and data sources there are.
const std::vector<Key>& config_keys();
/// Keys that only tests of this program set. They are set as the others are, and neither listed, suggested nor in the
/// schema; a configuration's JSON has them only where they are not at their defaults.
const std::vector<Key>& hidden_keys();
/// The listed keys and, behind them, the hidden ones.
const std::vector<Key>& all_keys();
/// Null when there is no key of this name, hidden or not.
const Key* find_key(std::string_view name);
/// Whether some key's name starts with `name` and a dot ("train", "train.optimizer").
bool is_section(std::string_view name);
/// Whether it is a section all of whose keys are lists. A file may write it as rows too: a list of mappings, each with
/// an entry for some of these keys.
bool is_table(std::string_view section);
/// "integer from 1 to 65536", "one of O0|O1|O2": what a value of this key looks like.
std::string describe(const Key& key);
/// The same for a message: where choices are many, how many and what shows them.
std::string describe_briefly(const Key& key);

/// The default of every key, by key: get(Config{}).
nlohmann::json default_value(const Key& key);
/// The resolved configuration as nested JSON with every listed key in it; what reports echo. Parsing it gives it back.
nlohmann::json to_json(const Config& config);
/// The keys that define a run's work and their values, by dotted name.
nlohmann::json describe_work(const Config& config);
/// Those of them that are not at their defaults.
nlohmann::json describe_changed_work(const Config& config);
/// "fnv1a64:" and 16 hex digits over the canonical JSON of the keys that define the work (not output.* and resume):
/// runs of equal hash do the same work.
std::string config_hash(const Config& config);
/// JSON Schema (draft 2020-12) of the YAML file, with these keys.
nlohmann::json config_schema(const std::vector<Key>& keys);

}  // namespace ptrain
