// The complete key table and what is derived from it alone: lookup, description, echo, hash.
#include "core/config/keys.h"

#include "core/base/hash.h"

#include "core/config/key_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace ptrain {

Key& Key::between(double low, double high) {
  minimum = low;
  maximum = high;
  return *this;
}
Key& Key::at_least(double low) {
  minimum = low;
  return *this;
}
Key& Key::above(double low) {
  minimum = low;
  exclusive_minimum = true;
  return *this;
}
Key& Key::below(double high) {
  maximum = high;
  exclusive_maximum = true;
  return *this;
}
Key& Key::one_of(std::vector<std::string> names) {
  type = KeyType::choice;
  choices = std::move(names);
  return *this;
}
Key& Key::also_called(std::vector<std::pair<std::string, std::string>> names) {
  other_names = std::move(names);
  return *this;
}
Key& Key::from_environment(std::string variable) {
  environment = std::move(variable);
  return *this;
}
Key& Key::must_be_set() {
  required = true;
  return *this;
}
Key& Key::no_work() {
  defines_work = false;
  return *this;
}

std::vector<Key> make_keys(const std::vector<ModelEntry>& models, const std::vector<DataSourceEntry>& sources) {
  std::vector<Key> all;
  for (auto part :
       {model_keys(models), numeric_keys(), data_keys(sources), train_keys(), step_keys(), method_keys(), run_keys()}) {
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  return all;
}

const std::vector<Key>& config_keys() {
  static const std::vector<Key> keys = make_keys({}, {});
  return keys;
}

const std::vector<Key>& hidden_keys() {
  static const std::vector<Key> keys = test_keys();
  return keys;
}

const std::vector<Key>& all_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all = config_keys();
    all.insert(all.end(), hidden_keys().begin(), hidden_keys().end());
    return all;
  }();
  return keys;
}

const Key* find_key(std::string_view name) {
  for (const Key& key : all_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

bool is_section(std::string_view name) {
  return std::any_of(config_keys().begin(), config_keys().end(), [&](const Key& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) && key.name[name.size()] == '.';
  });
}

bool is_table(std::string_view section) {
  const std::string prefix = std::string(section) + ".";
  return is_section(section) && std::all_of(config_keys().begin(), config_keys().end(), [&](const Key& key) {
           return !key.name.starts_with(prefix) || is_list(key.type);
         });
}

namespace {

std::string describe_range(const Key& key) {
  const bool low = std::isfinite(key.minimum);
  const bool high = std::isfinite(key.maximum);
  const auto number = [](double value) {
    return value == std::floor(value) && std::abs(value) < 1e16 ? fmt::format("{:.0f}", value)
                                                                : fmt::format("{}", value);
  };
  if (low && high && !key.exclusive_minimum && !key.exclusive_maximum) {
    return fmt::format(" from {} to {}", number(key.minimum), number(key.maximum));
  }
  std::string text;
  if (low) text += fmt::format(" {} {}", key.exclusive_minimum ? "above" : "of at least", number(key.minimum));
  if (low && high) text += " and";
  if (high) text += fmt::format(" {} {}", key.exclusive_maximum ? "below" : "of at most", number(key.maximum));
  return text;
}

}  // namespace

std::string describe(const Key& key) {
  const std::string word = key.list_alternative.empty() ? "" : key.list_alternative + " or ";
  switch (key.type) {
    case KeyType::boolean:
      return "true or false";
    case KeyType::integer:
      return "an integer" + describe_range(key);
    case KeyType::number:
      return "a number" + describe_range(key);
    case KeyType::text:
      return "a text";
    case KeyType::choice:
      return fmt::format("one of {}{}", fmt::join(key.choices, "|"),
                         key.numbered_choice.empty() ? "" : fmt::format("|{}:N", key.numbered_choice));
    case KeyType::image_size:
      return fmt::format("an integer{}, or HEIGHTxWIDTH of such", describe_range(key));
    case KeyType::text_list:
      return "a list of texts";
    case KeyType::choice_list:
      return fmt::format("a list of {}", fmt::join(key.choices, "|"));
    case KeyType::boolean_list:
      return "a list of true and false";
    case KeyType::number_list:
      return word + "a list of numbers" + describe_range(key);
    case KeyType::image_size_list:
      return fmt::format("a list of integers{}, or HEIGHTxWIDTH of such", describe_range(key));
  }
  return {};
}

std::string describe_briefly(const Key& key) {
  constexpr std::size_t most_shown = 16;  // more would fill a screen
  if (key.choices.size() <= most_shown) return describe(key);
  return fmt::format("one of {} that ptrain list keys shows", key.choices.size());
}

nlohmann::json default_value(const Key& key) { return key.get(Config{}); }

namespace {

/// Stores `value` under the dotted `name`.
void put(nlohmann::json& tree, const std::string& name, nlohmann::json value) {
  nlohmann::json* node = &tree;
  std::size_t begin = 0;
  for (std::size_t dot; (dot = name.find('.', begin)) != std::string::npos; begin = dot + 1) {
    node = &(*node)[name.substr(begin, dot - begin)];
  }
  (*node)[name.substr(begin)] = std::move(value);
}

}  // namespace

nlohmann::json to_json(const Config& config) {
  nlohmann::json tree = nlohmann::json::object();
  for (const Key& key : config_keys()) put(tree, key.name, key.get(config));
  for (const Key& key : hidden_keys()) {
    if (key.get(config) != default_value(key)) put(tree, key.name, key.get(config));
  }
  return tree;
}

nlohmann::json describe_work(const Config& config) {
  nlohmann::json work = nlohmann::json::object();  // its keys are sorted: the text is canonical
  for (const Key& key : config_keys()) {
    if (key.defines_work) work[key.name] = key.get(config);
  }
  return work;
}

nlohmann::json describe_changed_work(const Config& config) {
  const nlohmann::json work = describe_work(config), defaults = describe_work(Config{});
  nlohmann::json changed = nlohmann::json::object();
  for (const auto& [key, value] : work.items()) {
    if (value != defaults.at(key)) changed[key] = value;
  }
  return changed;
}

std::string config_hash(const Config& config) {
  return fmt::format("fnv1a64:{:016x}", fnv1a64(describe_work(config).dump()));
}

}  // namespace ptrain
