#include "core/report/fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain {
namespace {

using nlohmann::json;

json make_typed(const json& type, const char* help) { return {{"type", type}, {"description", help}}; }
json from_zero(const json& type, const char* help) { return {{"type", type}, {"minimum", 0}, {"description", help}}; }
json make_list(json items, const char* help) {
  return {{"type", "array"}, {"items", std::move(items)}, {"description", help}};
}
json make_map(json values, const char* help) {
  return {{"type", "object"}, {"additionalProperties", std::move(values)}, {"description", help}};
}

}  // namespace

template <typename T>
void Fields::leaf(const char* name, T& value, const json& schema) {
  if (use_ == Use::write) put(name, value);
  const json* found = use_ == Use::read ? find(name) : nullptr;
  if (found != nullptr) found->get_to(value);
  if (use_ != Use::schema) return;
  put(name, schema);
  required_.push_back(name);
}

template <typename T>
void Fields::optional_leaf(const char* name, std::optional<T>& value, const json& schema) {
  if (use_ == Use::write && !value) return put(name, nullptr);
  if (use_ == Use::read && find(name) == nullptr) return value.reset();
  T content = value.value_or(T{});
  leaf(name, content, schema);
  if (use_ == Use::read) value = std::move(content);
}

void Fields::document(const char* version, const char* help) {
  about_ = help;
  if (use_ == Use::write) put("schema", version);
  if (use_ != Use::schema) return;
  put("schema", {{"const", version}});
  required_.push_back("schema");
  version_ = version;
}

void Fields::operator()(const char* name, double& value, const char* help) {
  leaf(name, value, from_zero("number", help));
}
void Fields::operator()(const char* name, std::optional<double>& value, const char* help) {
  any_sign(name, value, help);
  if (use_ == Use::schema) written_[name]["minimum"] = 0;
}
void Fields::operator()(const char* name, int& value, const char* help) {
  leaf(name, value, from_zero("integer", help));
}
void Fields::operator()(const char* name, std::int64_t& value, const char* help) {
  leaf(name, value, from_zero("integer", help));
}
void Fields::operator()(const char* name, std::optional<std::int64_t>& value, const char* help) {
  optional_leaf(name, value, from_zero({"integer", "null"}, help));
}
void Fields::operator()(const char* name, bool& value, const char* help) {
  leaf(name, value, make_typed("boolean", help));
}
void Fields::operator()(const char* name, ImageSize& value, const char* help) {
  json content = value.is_square() ? json(value.height) : json{value.height, value.width};
  json schema = from_zero({"integer", "array"}, help);
  schema.update({{"items", from_zero("integer", "")}, {"minItems", 2}, {"maxItems", 2}});
  leaf(name, content, schema);
  if (use_ == Use::read) value = image_size_from_json(content).value_or(ImageSize{});
}
void Fields::operator()(const char* name, std::string& value, const char* help) {
  leaf(name, value, make_typed("string", help));
}
void Fields::operator()(const char* name, std::optional<std::string>& value, const char* help) {
  optional_leaf(name, value, make_typed({"string", "null"}, help));
}
void Fields::operator()(const char* name, std::vector<std::string>& value, const char* help) {
  leaf(name, value, make_list(make_typed("string", ""), help));
}
void Fields::operator()(const char* name, std::vector<double>& value, const char* help) {
  leaf(name, value, make_list(from_zero("number", ""), help));
}
void Fields::operator()(const char* name, std::map<std::string, double>& value, const char* help) {
  leaf(name, value, make_map(from_zero("number", ""), help));
}
void Fields::operator()(const char* name, std::map<std::string, std::string>& value, const char* help) {
  leaf(name, value, make_map({{"type", "string"}}, help));
}

void Fields::finite(const char* name, double& value, const char* help) {
  std::optional<double> content = value;
  (*this)(name, content, help);
  if (use_ == Use::read && source_->contains(name)) value = content.value_or(std::numeric_limits<double>::quiet_NaN());
}

void Fields::any_sign(const char* name, int& value, const char* help) {
  leaf(name, value, make_typed("integer", help));
}
void Fields::any_sign(const char* name, double& value, const char* help) {
  leaf(name, value, make_typed("number", help));
}
void Fields::any_sign(const char* name, std::optional<double>& value, const char* help) {
  if (use_ == Use::write && value && !std::isfinite(*value)) return put(name, nullptr);
  optional_leaf(name, value, make_typed({"number", "null"}, help));
}

void Fields::any(const char* name, json& value, const json& types, const char* help) {
  leaf(name, value, make_typed(types, help));
}
void Fields::maybe_any(const char* name, json& value, const json& types, const char* help) {
  if (use_ == Use::write && value.is_null()) return;
  any(name, value, types, help);
  if (use_ == Use::schema) required_.erase(required_.size() - 1);
}
void Fields::any_list(const char* name, json& value, const json& item, const char* help) {
  leaf(name, value, make_list(item, help));
}

void Fields::others(std::map<std::string, std::optional<double>>& values, const char* help) {
  if (use_ == Use::schema) others_ = make_typed({"number", "null"}, help);
  if (use_ == Use::write) {
    for (auto& [name, value] : values) any_sign(name.c_str(), value, help);
  }
  if (use_ != Use::read) return;
  values.clear();
  for (const auto& [name, value] : source_->items()) {
    if (declared_.contains(name) || !(value.is_number() || value.is_null())) continue;
    values[name] = value.is_null() ? std::nullopt : std::optional(value.get<double>());
  }
}

void Fields::one_of(const char* name, std::string& value, std::initializer_list<const char*> names, const char* help) {
  leaf(name, value, {{"enum", names}, {"description", help}});
}

int Fields::choose(const char* name, int index, const std::vector<std::string>& names, const char* help) {
  std::string text = names.at(static_cast<std::size_t>(index));
  leaf(name, text, {{"enum", names}, {"description", help}});
  const auto found = std::find(names.begin(), names.end(), text);
  return found == names.end() ? index : static_cast<int>(found - names.begin());
}

void Fields::group(const char* name, const char* help, const std::function<void(Fields&)>& describe) {
  const json* found = use_ == Use::read ? find(name) : nullptr;
  if (use_ == Use::read && found == nullptr) return;
  Fields inner = found == nullptr ? Fields(use_) : Fields(*found);
  describe(inner);
  if (use_ == Use::schema) required_.push_back(name);
  if (use_ != Use::read) put(name, inner.take(help));
}

const json* Fields::find(const char* name) const {
  declared_.insert(name);
  const auto found = source_->find(name);
  return found == source_->end() || found->is_null() ? nullptr : &*found;
}

void Fields::nullable(const char* name) { written_[name]["type"] = {"object", "null"}; }

void Fields::list(const char* name, json items, const char* help) {
  put(name, make_list(std::move(items), help));
  required_.push_back(name);
}

void Fields::map(const char* name, json values, const char* help) {
  put(name, make_map(std::move(values), help));
  required_.push_back(name);
}

json Fields::take(const char* help) {
  if (use_ != Use::schema) return std::move(written_);
  std::sort(required_.begin(), required_.end());
  json schema = {{"type", "object"},
                 {"description", *help == '\0' ? about_ : help},
                 {"properties", std::move(written_)},
                 {"required", std::move(required_)},
                 {"additionalProperties", std::move(others_)}};
  if (!version_.empty()) {
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    schema["title"] = version_;
  }
  return schema;
}

}  // namespace ptrain
