#include "core/data/text/label_classes.h"

#include "core/base/errors.h"
#include "core/data/class_names.h"
#include "core/data/sources.h"
#include "core/data/text/row_reader.h"
#include "core/data/text/table_columns.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
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
  std::map<std::string, std::set<std::string>> written;
  for (const TextRow& row : table.rows) written[class_name(row.label)].insert(row.label);
  require_repeated(table, written.size());
  bool are_numbers = true;
  for (const auto& [name, forms] : written) {
    classes.names.push_back(name);
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
  if (std::string similar = describe_alike(classes.names, table.name); !similar.empty()) {
    classes.notes.push_back(std::move(similar));
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
