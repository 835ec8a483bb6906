#include "core/data/text/table_columns.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

namespace ptrain {
namespace {

constexpr std::array<std::string_view, 11> first_names{"sentence", "sentence1", "question1", "question",
                                                       "premise",  "text",      "text_a",    "#1 string",
                                                       "review",   "query",     "content"};
constexpr std::array<std::string_view, 8> second_names{"sentence2", "question2", "hypothesis", "text_b",
                                                       "#2 string", "answer",    "passage",    "sentence"};
constexpr std::array<std::string_view, 8> label_names{"label", "gold_label", "is_duplicate", "quality",
                                                      "class", "sentiment",  "labels",       "score"};
constexpr std::size_t none = TableColumns::none;

std::size_t find_named(const std::vector<std::string>& header, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  return none;
}

/// Finds columns by the names in GLUE's files and similar ones, ignoring case.
TableColumns find_common_columns(std::vector<std::string> header) {
  for (std::string& field : header) {
    std::transform(field.begin(), field.end(), field.begin(),
                   [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  }
  TableColumns columns;
  columns.first = find_named(header, first_names);
  columns.second = find_named(header, second_names);
  columns.count = header.size();
  if (columns.first == columns.second) columns.second = none;  // "sentence" alone
  // QNLI's pair is question and sentence; "sentence" alone was found first.
  const std::size_t question = find_named(header, std::array<std::string_view, 1>{"question"});
  if (question != none && columns.second == none) {
    columns.second = columns.first == question ? none : columns.first;
    columns.first = question;
  }
  // MNLI has several annotators' labels; gold_label is the consensus.
  columns.label = find_named(header, std::array<std::string_view, 1>{"gold_label"});
  if (columns.label == none) columns.label = find_named(header, label_names);
  return columns;
}

/// The column of that name, which must exist; `fallback` if no name is given.
std::size_t column_named(const std::vector<std::string>& header, const std::string& wanted, const std::string& name,
                         std::size_t fallback) {
  if (wanted.empty()) return fallback;
  const auto found = std::find(header.begin(), header.end(), wanted);
  if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  fail("{}: has no column {}; its columns are {}", name, quoted_name(wanted), quoted_list(header));
}

bool is_number(std::string_view field) {
  return !field.empty() && field.size() <= 6 &&
         std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr std::size_t most_listed = 20;
  std::vector<std::string> quoted;
  for (const std::string& name : names) {
    if (quoted.size() < most_listed) quoted.push_back(quoted_name(name));
  }
  return fmt::format("{}{}", fmt::join(quoted, ", "), names.size() > most_listed ? ", ..." : "");
}

TableColumns columns_of_header(const std::vector<std::string>& header, const std::string& name, TableLabels labels,
                               const ColumnNames& columns) {
  TableColumns found = find_common_columns(header);
  const bool needs_label = labels == TableLabels::required;
  if (!columns.any()) {
    if (needs_label && found.label == none) found.first = none;
    return found;
  }
  const bool alone = !columns.first.empty();  // a named first sentence has a second one only if that is named too
  found.first = column_named(header, columns.first, name, found.first);
  found.second = column_named(header, columns.second, name, alone ? none : found.second);
  const std::size_t found_label = found.label == found.first || found.label == found.second ? none : found.label;
  found.label = column_named(header, columns.label, name, found_label);
  if (found.first == none || found.first == found.label || found.first == found.second) {
    fail("{}: cannot determine which column has the text, name it too; its columns are {}", name, quoted_list(header));
  }
  if (needs_label && found.label == none) {
    fail("{}: cannot determine which column has the label, name it too; its columns are {}", name, quoted_list(header));
  }
  return found;
}

TableColumns columns_of_data(const std::vector<std::string>& row, const std::string& name, std::int64_t line,
                             TableLabels labels) {
  const std::size_t count = row.size();
  if (count == 1 && labels == TableLabels::optional) return {0, none, none, 1};
  if (count == 2) {
    return is_number(row[0]) && !is_number(row[1]) ? TableColumns{1, none, 0, 2} : TableColumns{0, none, 1, 2};
  }
  if (count == 3) {
    return is_number(row[0]) && !is_number(row[2]) ? TableColumns{1, 2, 0, 3} : TableColumns{0, 1, 2, 3};
  }
  if (count == 4 && is_number(row[1]) && (row[2].empty() || row[2] == "*")) return {3, none, 1, 4};
  fail(
      "{}:{}: cannot determine the columns from {} column(s) without a header; expected sentence and label, two "
      "sentences "
      "and a label, CoLA's four columns, a header such as \"sentence\tlabel\", or the columns' names in data.columns",
      name, line, count);
}

}  // namespace ptrain
