#include "core/data/text/label_classes.h"

#include "core/base/errors.h"
#include "core/data/sources.h"
#include "core/data/text/row_reader.h"
#include "core/data/text/table_columns.h"
#include "core/io/atomic_file.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

namespace ptrain {
namespace {

/// The finite number that all of `text` is; none for one with more digits than a double holds.
std::optional<double> parse_number(std::string_view text) {
  constexpr std::size_t most_digits = 15;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  const auto digits = std::count_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (static_cast<std::size_t>(digits) > most_digits) return std::nullopt;
  return value == 0 ? 0.0 : value;  // no negative zero
}

/// `name` in the form in which names that differ only in case, blanks or the form of their accents are equal, and so
/// are true and 1, false and 0.
std::string fold(const std::string& name) {
  utf8proc_uint8_t* made = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT |
                                                      UTF8PROC_CASEFOLD | UTF8PROC_IGNORE);
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
                                             static_cast<utf8proc_ssize_t>(name.size()), &made, options);
  if (size < 0) return name;
  std::string folded(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
  std::free(made);
  std::erase_if(folded, [](char c) { return c == ' ' || c == '\t'; });
  return folded == "true" ? "1" : folded == "false" ? "0" : folded;
}

/// The first few groups of more than one name: "a" and "A"; "b" and "B".
std::string describe_groups(const std::map<std::string, std::set<std::string>>& groups) {
  constexpr std::size_t most_listed = 3;
  std::string text;
  std::size_t listed = 0;
  for (const auto& [key, names] : groups) {
    if (names.size() < 2) continue;
    if (++listed > most_listed) return text + "; ...";
    text += (text.empty() ? "" : "; ") + quoted_list({names.begin(), names.end()});
  }
  return text;
}

void require_repeated(const TextTable& table, std::size_t classes) {
  constexpr std::size_t fewest_rows = 8;
  if (table.rows.size() < fewest_rows || classes < table.rows.size()) return;
  fail(
      "{}: every one of its {} labels is another, such as {}: they are no classes; name the columns of text and label "
      "in "
      "data.columns, or set model.head: regression for numbers",
      table.name, classes, quoted_name(table.rows.front().label));
}

}  // namespace

std::string class_name(std::string_view label) {
  label = trim_blanks(label);
  const std::optional<double> number = parse_number(label);
  return number ? fmt::format("{}", *number) : std::string(label);
}

LabelClasses collect_classes(const TextTable& table) {
  LabelClasses classes;
  std::map<std::string, std::set<std::string>> written, alike;
  for (const TextRow& row : table.rows) written[class_name(row.label)].insert(row.label);
  require_repeated(table, written.size());
  bool are_numbers = true;
  for (const auto& [name, forms] : written) {
    classes.names.push_back(name);
    alike[fold(name)].insert(name);
    are_numbers = are_numbers && parse_number(name).has_value();
  }
  if (are_numbers) {
    std::sort(classes.names.begin(), classes.names.end(),
              [](const auto& a, const auto& b) { return *parse_number(a) < *parse_number(b); });
    if (classes.names != numbered_classes(static_cast<int>(classes.names.size()))) {
      classes.notes.push_back(fmt::format("{}: its labels are {} numbers, each a class: {}", table.name,
                                          classes.names.size(), listed(classes.names)));
    }
  }
  if (const std::string merged = describe_groups(written); !merged.empty()) {
    classes.notes.push_back(fmt::format("{}: labels of one value are one class: {}", table.name, merged));
  }
  if (const std::string similar = describe_groups(alike); !similar.empty()) {
    classes.notes.push_back(
        fmt::format("{}: labels that differ only in case, blanks or the form of letters, or as true and 1 do, are "
                    "classes of their own: "
                    "{}",
                    table.name, similar));
  }
  return classes;
}

ClassFinder::ClassFinder(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(names[i], static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(class_name(names[i]), static_cast<std::int32_t>(i));
}

std::optional<std::int32_t> ClassFinder::find(std::string_view label) const {
  auto found = numbers_.find(std::string(label));
  if (found == numbers_.end()) found = numbers_.find(class_name(label));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ptrain
