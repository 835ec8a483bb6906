// Declares the JSON of a struct once: its member describe() names every field with its help text; writing, reading and
// the JSON Schema follow from it.
//
//     struct ModelReport {
//       std::string name;
//       std::int64_t parameters = 0;
//
//       void describe(Fields& field) {
//         field("name", name, "as in the registry");
//         field("parameters", parameters, "");
//       }
//     };
#pragma once

#include "core/config/image_size.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

class Fields;
template <typename T>
concept Described = requires(T& object, Fields& field) {
  object.describe(field);
};

/// The visitor that describe() declares a struct's fields to. Fields are required in the schema unless left out when
/// absent. Reading leaves a member whose field is missing unchanged and ignores unknown fields.
class Fields {
 public:
  enum class Use { write, read, schema };
  explicit Fields(Use use) : use_(use) {}
  explicit Fields(const nlohmann::json& source) : use_(Use::read), source_(&source) {}

  /// Declares a whole document, of a version such as "ptrain.report/1".
  void document(const char* version, const char* help);
  /// Describes the struct, where the field that holds it (a list or map) does not.
  void about(const char* help) { about_ = help; }

  // Numbers from 0, text, labels; null for an absent optional.
  void operator()(const char* name, double& value, const char* help);
  void operator()(const char* name, std::optional<double>& value, const char* help);
  void operator()(const char* name, int& value, const char* help);
  void operator()(const char* name, std::int64_t& value, const char* help);
  void operator()(const char* name, std::optional<std::int64_t>& value, const char* help);
  void operator()(const char* name, bool& value, const char* help);
  /// The side of a square, or [height, width]; 0: not set.
  void operator()(const char* name, ImageSize& value, const char* help);
  void operator()(const char* name, std::string& value, const char* help);
  void operator()(const char* name, std::optional<std::string>& value, const char* help);
  void operator()(const char* name, std::vector<std::string>& value, const char* help);
  void operator()(const char* name, std::vector<double>& value, const char* help);
  void operator()(const char* name, std::map<std::string, double>& value, const char* help);
  void operator()(const char* name, std::map<std::string, std::string>& value, const char* help);
  /// Null when not finite: JSON has no NaN. NaN when read from null.
  void finite(const char* name, double& value, const char* help);
  /// Numbers that may be negative.
  void any_sign(const char* name, int& value, const char* help);
  void any_sign(const char* name, double& value, const char* help);
  void any_sign(const char* name, std::optional<double>& value, const char* help);
  /// JSON of the given type or types ("object", {"boolean", "integer"}).
  void any(const char* name, nlohmann::json& value, const nlohmann::json& types, const char* help);
  /// Likewise; omitted when null.
  void maybe_any(const char* name, nlohmann::json& value, const nlohmann::json& types, const char* help);
  /// A list of JSON values that match the schema `item`.
  void any_list(const char* name, nlohmann::json& value, const nlohmann::json& item, const char* help);
  void one_of(const char* name, std::string& value, std::initializer_list<const char*> names, const char* help);
  /// All other members of the object: numbers of any names, or null.
  void others(std::map<std::string, std::optional<double>>& values, const char* help);
  /// An enumeration, by to_string() of its values up to `last`.
  template <typename E>
  void choice(const char* name, E& value, E last, const char* help) {
    std::vector<std::string> names;
    for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(to_string(static_cast<E>(i)));
    value = static_cast<E>(choose(name, static_cast<int>(value), names, help));
  }

  /// A nested object for members of this struct.
  void group(const char* name, const char* help, const std::function<void(Fields&)>& describe);
  template <Described T>
  void operator()(const char* name, T& value, const char* help) {
    group(name, help, [&](Fields& field) { value.describe(field); });
  }
  template <Described T>
  void operator()(const char* name, std::optional<T>& value, const char* help) {
    if (use_ == Use::write && !value) return put(name, nullptr);
    present(name, value, help);
    if (use_ == Use::schema) nullable(name);
  }
  /// Omitted when absent.
  template <typename T>
  void maybe(const char* name, std::optional<T>& value, const char* help) {
    if (use_ == Use::write && !value) return;
    if constexpr (Described<T>) {
      present(name, value, help);
    } else {
      (*this)(name, value, help);
    }
    if (use_ == Use::schema) required_.erase(required_.size() - 1);
  }
  template <Described T>
  void operator()(const char* name, std::vector<T>& value, const char* help);
  template <Described T>
  void operator()(const char* name, std::map<std::string, T>& value, const char* help);
  /// Omitted when empty.
  template <typename T>
  void maybe(const char* name, std::map<std::string, T>& value, const char* help) {
    if (use_ == Use::write && value.empty()) return;
    (*this)(name, value, help);
    if (use_ == Use::schema) required_.erase(required_.size() - 1);
  }

  /// Returns the written object, or its schema.
  nlohmann::json take(const char* help = "");

 private:
  template <typename T>
  void leaf(const char* name, T& value, const nlohmann::json& schema);
  template <typename T>
  void optional_leaf(const char* name, std::optional<T>& value, const nlohmann::json& schema);
  template <Described T>
  void present(const char* name, std::optional<T>& value, const char* help) {
    if (use_ == Use::write) return (*this)(name, *value, help);
    if (use_ == Use::read && find(name) == nullptr) return;
    T content = value.value_or(T{});
    (*this)(name, content, help);
    if (use_ == Use::read) value = std::move(content);
  }
  int choose(const char* name, int index, const std::vector<std::string>& names, const char* help);
  void put(const char* name, nlohmann::json value) { written_[name] = std::move(value); }
  /// Null where the field is missing or null.
  const nlohmann::json* find(const char* name) const;
  void nullable(const char* name);
  void list(const char* name, nlohmann::json items, const char* help);
  void map(const char* name, nlohmann::json values, const char* help);

  Use use_;
  const nlohmann::json* source_ = nullptr;
  nlohmann::json written_ = nlohmann::json::object();  // or the schema's properties
  nlohmann::json required_ = nlohmann::json::array();
  nlohmann::json others_ = false;           // schema of undeclared members
  mutable std::set<std::string> declared_;  // names of declared fields
  std::string about_, version_;
};

/// Writes the object as JSON, with the members that describe() names.
template <Described T>
nlohmann::json write_fields(const T& object) {
  Fields field(Fields::Use::write);
  const_cast<T&>(object).describe(field);  // writing does not modify it
  return field.take();
}

/// Reads an object; members whose fields are missing keep their defaults.
template <Described T>
T read_fields(const nlohmann::json& source) {
  T object;
  Fields field(source);
  object.describe(field);
  return object;
}

/// The JSON Schema of such a struct.
template <Described T>
nlohmann::json schema_of_fields(const char* help = "") {
  T example;
  Fields field(Fields::Use::schema);
  example.describe(field);
  return field.take(help);
}

template <Described T>
void Fields::operator()(const char* name, std::vector<T>& value, const char* help) {
  if (use_ == Use::schema) return list(name, schema_of_fields<T>(), help);
  if (use_ == Use::write) {
    nlohmann::json items = nlohmann::json::array();
    for (const T& item : value) items.push_back(write_fields(item));
    return put(name, std::move(items));
  }
  if (const nlohmann::json* found = find(name)) {
    value.clear();
    for (const nlohmann::json& item : *found) value.push_back(read_fields<T>(item));
  }
}

template <Described T>
void Fields::operator()(const char* name, std::map<std::string, T>& value, const char* help) {
  if (use_ == Use::schema) return map(name, schema_of_fields<T>(), help);
  if (use_ == Use::write) {
    nlohmann::json items = nlohmann::json::object();
    for (const auto& [key, item] : value) items[key] = write_fields(item);
    return put(name, std::move(items));
  }
  if (const nlohmann::json* found = find(name)) {
    value.clear();
    for (const auto& [key, item] : found->items()) value[key] = read_fields<T>(item);
  }
}

}  // namespace ptrain
