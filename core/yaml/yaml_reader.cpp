#include "core/yaml/yaml_reader.h"

#include "core/base/errors.h"
#include "core/config/text.h"

#include <charconv>

namespace ptrain {

std::string YamlReader::at(int line) const { return fmt::format("{}:{}", file_, line); }

void YamlReader::reject(const YamlEntry& entry, std::string_view section, std::string_view expected) const {
  const bool scalar = entry.value.kind == YamlValue::Kind::scalar;
  fail_usage("{}: {}{}: expected {}{}", at(entry.line), section, entry.key, expected,
             scalar ? ", got " + shown(entry.value.text) : "");
}

void YamlReader::reject_unknown(const YamlEntry& entry, std::string_view section,
                                const std::vector<std::string>& known) const {
  fail_usage("{}: {}: unknown key of {}{}", at(entry.line), shown(fmt::format("{}{}", section, entry.key)), document_,
             did_you_mean(entry.key, known));
}

const std::string& YamlReader::as_text(const YamlEntry& entry, std::string_view section) const {
  if (entry.value.kind != YamlValue::Kind::scalar || entry.value.text.empty()) reject(entry, section, "a text");
  return entry.value.text;
}

double YamlReader::as_number(const YamlEntry& entry, double low, double high, std::string_view section) const {
  const std::string& text = entry.value.text;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (entry.value.kind != YamlValue::Kind::scalar || error != std::errc() || end != text.data() + text.size() ||
      !(number >= low && number <= high)) {  // NaN is in no range
    reject(entry, section, fmt::format("a number from {} to {}", low, high));
  }
  return number;
}

std::int64_t YamlReader::as_integer(const YamlEntry& entry, double low, double high, std::string_view section) const {
  const double number = as_number(entry, low, high, section);
  if (number != static_cast<double>(static_cast<std::int64_t>(number))) reject(entry, section, "a whole number");
  return static_cast<std::int64_t>(number);
}

bool YamlReader::as_bool(const YamlEntry& entry, std::string_view section) const {
  const std::string& text = entry.value.text;
  if (text != "true" && text != "false") reject(entry, section, "true or false");
  return text == "true";
}

const std::vector<YamlEntry>& YamlReader::as_map(const YamlEntry& entry, std::string_view section) const {
  if (entry.value.kind != YamlValue::Kind::map) reject(entry, section, "a mapping");
  return entry.value.entries;
}

const std::vector<YamlValue>& YamlReader::as_list(const YamlEntry& entry, std::string_view section,
                                                  std::string_view expected) const {
  if (entry.value.kind != YamlValue::Kind::list || entry.value.items.empty()) reject(entry, section, expected);
  return entry.value.items;
}

}  // namespace ptrain
