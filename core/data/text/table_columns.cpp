#include "core/data/text/table_columns.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>

namespace ptrain {
namespace {

constexpr std::array<std::string_view, 11> common_first_names{"sentence", "sentence1", "question1", "question",
                                                              "premise",  "text",      "text_a",    "#1 string",
                                                              "review",   "query",     "content"};
constexpr std::array<std::string_view, 8> common_second_names{"sentence2", "question2", "hypothesis", "text_b",
                                                              "#2 string", "answer",    "passage",    "sentence"};
constexpr std::array<std::string_view, 8> common_label_names{"label", "gold_label", "is_duplicate", "quality",
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
  columns.first = find_named(header, common_first_names);
  columns.second = find_named(header, common_second_names);
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
  if (columns.label == none) columns.label = find_named(header, common_label_names);
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

/// Throws Error where another column has the name of `column`: which one is meant is open.
void require_only_one(const std::vector<std::string>& header, std::size_t column, const std::string& name) {
  if (column == none || std::count(header.begin(), header.end(), header[column]) == 1) return;
  fail("{}: several columns are called {}; rename those that are not meant", name, quoted_name(header[column]));
}

bool is_number(std::string_view field) {
  return !field.empty() && field.size() <= 6 &&
         std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Replaces `found` with the columns that a model was trained on, and returns true, if `header` has its text column.
bool take_learned(const std::vector<std::string>& header, const ColumnNames& learned, TableColumns& found) {
  const auto find = [&](const std::string& name) {
    return name.empty() ? none : find_named(header, std::array<std::string_view, 1>{name});
  };
  const std::size_t first = find(learned.first);
  if (first == none) return false;
  found.first = first;
  found.second = find(learned.second);
  if (const std::size_t label = find(learned.label); label != none) found.label = label;
  if (found.label == found.first || found.label == found.second) found.label = none;
  return true;
}

/// Whether a header's first name is that of a data frame's index: empty, or as pandas names it.
bool begins_with_index(const std::vector<std::string>& header) {
  return header.size() > 1 && header[0].starts_with("Unnamed: ");
}

/// Whether the first column counts the rows, from 0 or 1; tables of a few rows are not tested.
bool counts_rows(const std::vector<std::vector<std::string>>& rows) {
  constexpr std::size_t fewest_rows = 5;
  if (rows.size() < fewest_rows || rows.front().size() < 2) return false;
  const std::size_t start = rows.front()[0] == "1" ? 1 : 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i][0] != std::to_string(start + i)) return false;
  }
  return true;
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

/// columns_of_header() without a test of names that occur twice.
static TableColumns find_columns(const std::vector<std::string>& header, const std::string& name,
                                 const TextTableOptions& options) {
  const ColumnNames& columns = options.columns;
  TableColumns found = find_common_columns(header);
  const bool knows_text = take_learned(header, options.learned, found);
  const bool needs_label = options.labels == TableLabels::required;
  if (!columns.any()) {
    if (needs_label && found.label == none) found.first = none;
    if (found.first == none && begins_with_index(header)) {
      fail("{}: cannot determine which columns have text and label, name them in data.columns; its columns are {}",
           name, quoted_list(header));
    }
    return found;
  }
  // A named first sentence has a second one only if that is named too, or if the model was trained on pairs.
  const bool alone = !columns.first.empty() && !(knows_text && !options.learned.second.empty());
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

TableColumns columns_of_header(const std::vector<std::string>& header, const std::string& name,
                               const TextTableOptions& options) {
  const TableColumns found = find_columns(header, name, options);
  if (found.first == none) return found;
  for (const std::size_t column : {found.first, found.second, found.label}) require_only_one(header, column, name);
  return found;
}

TableColumns columns_of_data(const std::vector<std::vector<std::string>>& rows, const std::string& name,
                             std::int64_t line, TableLabels labels) {
  const std::size_t skipped = counts_rows(rows) ? 1 : 0;
  const auto row = std::span(rows.front()).subspan(skipped);
  const std::size_t count = row.size();
  const auto columns = [&](std::size_t first, std::size_t second, std::size_t label) {
    const auto at = [&](std::size_t column) { return column == none ? none : column + skipped; };
    return TableColumns{at(first), at(second), at(label), rows.front().size()};
  };
  if (count == 1 && labels == TableLabels::optional) return columns(0, none, none);
  if (count == 2) return is_number(row[0]) && !is_number(row[1]) ? columns(1, none, 0) : columns(0, none, 1);
  if (count == 3) return is_number(row[0]) && !is_number(row[2]) ? columns(1, 2, 0) : columns(0, 1, 2);
  if (count == 4 && is_number(row[1]) && (row[2].empty() || row[2] == "*")) return columns(3, none, 1);
  fail(
      "{}:{}: cannot determine the columns from {} column(s) without a header; expected sentence and label, two "
      "sentences "
      "and a label, CoLA's four columns, a header such as \"sentence\tlabel\", or the columns' names in data.columns",
      name, line, row.size());
}

/// Whether each of the columns that were taken is the one that `names` has for it.
static bool are_named(const ColumnNames& taken, const ColumnNames& names) {
  const auto is_named = [](const std::string& column, const std::string& by) { return column.empty() || column == by; };
  return is_named(taken.first, names.first) && is_named(taken.second, names.second) &&
         is_named(taken.label, names.label);
}

std::string describe_taken(const ColumnNames& taken, const std::string& name, const TextTableOptions& options) {
  if (are_named(taken, options.columns) || are_named(taken, options.learned)) return {};
  std::string text = fmt::format("{}: column {} is taken for the text", name, quoted_name(taken.first));
  if (!taken.second.empty()) text += fmt::format(", {} for the second sentence", quoted_name(taken.second));
  if (!taken.label.empty()) text += fmt::format(", {} for the label", quoted_name(taken.label));
  return text + "; data.columns names others";
}

std::string describe_guess(const TableColumns& columns, const std::string& name) {
  std::string text = fmt::format("{}: has no header; column {} is taken for the text", name, columns.first + 1);
  if (columns.second != none) text += fmt::format(", {} for the second sentence", columns.second + 1);
  if (columns.label != none) text += fmt::format(", {} for the label", columns.label + 1);
  if (columns.count > 2 && columns.first == 1 && columns.label != 0) text += ", the first counts the rows";
  return text;
}

}  // namespace ptrain
