#include "core/config/value.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/config/text.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace ptrain {
namespace {

/// A scalar's location for messages, and its key.
struct Target {
  const Key& key;
  std::string_view where;

  [[noreturn]] void reject(std::string_view got) const {
    std::string hint;
    if (key.type == KeyType::choice && got.size() > 2) {
      hint = did_you_mean(got.substr(1, got.size() - 2), key.choices);
    }
    fail_usage("{}: {}: expected {}, got {}{}", where, key.name, describe_briefly(key), got, hint);
  }
};

std::string_view strip_plus(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? text.substr(1) : text;
}

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  text = strip_plus(text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void check_range(const Target& target, double value, std::string_view text) {
  const Key& key = target.key;
  const bool low = key.exclusive_minimum ? value <= key.minimum : value < key.minimum;
  const bool high = key.exclusive_maximum ? value >= key.maximum : value > key.maximum;
  if (low || high) target.reject(text);
}

/// Rejects a value that is no number: "a number", "an integer", the type without its range.
[[noreturn]] void reject_type(const Target& target, std::string_view type, std::string_view got) {
  fail_usage("{}: {}: expected {}, got {}", target.where, target.key.name, type, got);
}

/// Rejects a leading zero: 017 is 15 in YAML 1.1 and 17 in YAML 1.2.
void reject_leading_zero(const Target& target, std::string_view text) {
  const std::size_t digit = text.find_first_not_of("+-");
  if (digit >= text.size() || digit + 1 >= text.size() || text[digit] != '0') return;
  if (text[digit + 1] < '0' || text[digit + 1] > '9') return;
  fail_usage("{}: {}: {} is octal to some readers of YAML; write it without the leading zero", target.where,
             target.key.name, shown(text));
}

double read_number(const Target& target, const YamlValue& value) {
  const auto number = value.quoted ? std::nullopt : parse_whole<double>(value.text);
  if (number) reject_leading_zero(target, value.text);
  if (!number || !std::isfinite(*number)) reject_type(target, "a number", shown(value.text));
  check_range(target, *number, value.text);
  return *number;
}

std::int64_t read_integer(const Target& target, const YamlValue& value) {
  auto integer = value.quoted ? std::nullopt : parse_whole<std::int64_t>(value.text);
  if (!value.quoted && !integer) {  // 16.0, an integer to JSON Schema too
    constexpr double largest = 9007199254740992.0;
    const auto number = parse_whole<double>(value.text);
    if (number && std::abs(*number) <= largest && *number == std::floor(*number)) {
      integer = static_cast<std::int64_t>(*number);
    }
  }
  if (integer) reject_leading_zero(target, value.text);
  if (!integer) reject_type(target, "an integer", shown(value.text));
  check_range(target, static_cast<double>(*integer), value.text);
  return *integer;
}

bool read_boolean(const Target& target, const YamlValue& value) {
  const std::string word = lower_case(value.text);
  if (!value.quoted && word == "true") return true;
  if (!value.quoted && word == "false") return false;
  target.reject(shown(value.text));
}

std::string read_choice(const Target& target, const YamlValue& value) {
  const std::string word = lower_case(value.text);
  for (const std::string& choice : target.key.choices) {
    if (lower_case(choice) == word) return choice;
  }
  for (const auto& [other, choice] : target.key.other_names) {
    if (other == word) return choice;
  }
  if (const auto device = device_from_name(word); device && !target.key.numbered_choice.empty())
    return to_string(*device);
  target.reject(shown(value.text));
}

std::string_view name_kind(const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::null:
      return "nothing";
    case YamlValue::Kind::list:
      return "a list";
    case YamlValue::Kind::map:
      return "a mapping";
    case YamlValue::Kind::scalar:
      break;
  }
  return "a single value";
}

void check_sides(const Target& target, ImageSize size, std::string_view text) {
  check_range(target, size.height, text);
  check_range(target, size.width, text);
}

/// Reads a side, or HEIGHTxWIDTH, in the form of to_json().
nlohmann::json read_image_size(const Target& target, const YamlValue& value) {
  if (value.text.find('x') == std::string::npos) return read_integer(target, value);
  const std::optional<ImageSize> size = parse_image_size(value.text);
  if (!size) target.reject(shown(value.text));
  check_sides(target, *size, shown(value.text));
  return to_json(*size);
}

/// Reads an item of a list of sizes, where a side may be any whole number, such as 64.0.
nlohmann::json read_listed_size(const Target& target, const YamlValue& value) {
  if (value.text.find('x') != std::string::npos) return read_image_size(target, value);
  const double side = read_number(target, value);
  if (side != std::floor(side)) target.reject(value.text);
  return side;
}

/// Reads [HEIGHT, WIDTH].
nlohmann::json read_size_pair(const Target& target, const YamlValue& value) {
  if (value.items.size() != 2) target.reject("a list of " + std::to_string(value.items.size()));
  std::int64_t sides[2];
  for (std::size_t i = 0; i < 2; ++i) {
    if (value.items[i].kind != YamlValue::Kind::scalar) target.reject(name_kind(value.items[i]));
    sides[i] = read_integer(target, value.items[i]);
  }
  return to_json(ImageSize(sides[0], sides[1]));
}

nlohmann::json read_scalar(const Target& target, const YamlValue& value, KeyType type) {
  if (value.kind != YamlValue::Kind::scalar) target.reject(name_kind(value));
  switch (type) {
    case KeyType::boolean:
      return read_boolean(target, value);
    case KeyType::integer:
      return read_integer(target, value);
    case KeyType::number:
      return read_number(target, value);
    case KeyType::choice:
      return read_choice(target, value);
    case KeyType::image_size:
      return read_image_size(target, value);
    case KeyType::image_size_list:
      return read_listed_size(target, value);
    default:
      return value.text;
  }
}

/// The type of a list's items.
KeyType get_item_type(KeyType list) {
  if (list == KeyType::number_list) return KeyType::number;
  if (list == KeyType::image_size_list) return list;  // its items may be written in more ways than a single size
  if (list == KeyType::choice_list) return KeyType::choice;
  return list == KeyType::boolean_list ? KeyType::boolean : KeyType::text;
}

YamlValue make_scalar(std::string_view text) {
  YamlValue value;
  value.kind = YamlValue::Kind::scalar;
  value.text = text;
  return value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Takes the first item off a list's text, and the comma after it. Quotes are those of YAML: in single ones a doubled
/// quote is one, in double ones a backslash escapes a quote or a backslash.
YamlValue take_item(std::string_view& text, const Target& target) {
  const std::string_view whole = text = trim(text);
  YamlValue item = make_scalar("");
  item.quoted = text.starts_with('"') || text.starts_with('\'');
  if (!item.quoted) {
    const std::size_t comma = std::min(text.find(','), text.size());
    item.text = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    return item;
  }
  const char quote = text.front();
  std::size_t at = 1;
  for (; at < text.size(); ++at) {
    const bool escapes = quote == '"' ? text[at] == '\\' : text.substr(at).starts_with("''");
    if (escapes) {
      if (++at == text.size()) break;
    } else if (text[at] == quote) {
      break;
    }
    item.text.push_back(text[at]);
  }
  const std::string_view rest = at < text.size() ? trim(text.substr(at + 1)) : "";
  if (at >= text.size() || !(rest.empty() || rest.starts_with(','))) {
    fail_usage("{}: {}: expected items in matching quotes with commas between them, got {}", target.where,
               target.key.name, shown(whole));
  }
  text = rest.empty() ? rest : rest.substr(1);
  return item;
}

/// Lists of words are sets. Those of numbers, sizes and switches have an entry for each stage or group.
void require_distinct(const Target& target, const nlohmann::json& list) {
  for (auto item = list.begin(); item != list.end(); ++item) {
    if (std::find(list.begin(), item, *item) == item) continue;
    fail_usage("{}: {}: {} is there twice; expected each value once", target.where, target.key.name,
               shown(item->get<std::string>()));
  }
}

}  // namespace

nlohmann::json check_value(const Key& key, const YamlValue& value, std::string_view where) {
  const Target target{key, where};
  if (key.type == KeyType::image_size && value.kind == YamlValue::Kind::list) return read_size_pair(target, value);
  if (!is_list(key.type)) return read_scalar(target, value, key.type);
  const bool is_scalar = value.kind == YamlValue::Kind::scalar;
  if (is_scalar && !key.list_alternative.empty() && lower_case(value.text) == key.list_alternative)
    return key.list_alternative;
  if (value.kind != YamlValue::Kind::list) {
    target.reject(value.kind == YamlValue::Kind::scalar ? shown(value.text) : std::string(name_kind(value)));
  }
  nlohmann::json list = nlohmann::json::array();
  for (const YamlValue& item : value.items) list.push_back(read_scalar(target, item, get_item_type(key.type)));
  if (key.type == KeyType::choice_list || key.type == KeyType::text_list) require_distinct(target, list);
  return list;
}

nlohmann::json check_text(const Key& key, std::string_view text, std::string_view where) {
  if (!is_utf8(text)) fail_usage("{}: {}: not UTF-8", where, key.name);
  if (key.type == KeyType::boolean && (text == "0" || text == "1")) return text == "1";
  const bool is_pair = key.type == KeyType::image_size && text.starts_with('[');
  if (!is_list(key.type) && !is_pair) return check_value(key, make_scalar(text), where);
  text = trim(text);
  if (!key.list_alternative.empty() && lower_case(text) == key.list_alternative) return key.list_alternative;
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = trim(text.substr(1, text.size() - 2));
  YamlValue list;
  list.kind = YamlValue::Kind::list;
  while (!text.empty()) list.items.push_back(take_item(text, {key, where}));
  return check_value(key, list, where);
}

}  // namespace ptrain
