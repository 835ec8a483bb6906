// Splits rows, finds the columns' meaning from the first row, then checks every row against it.
#include "core/data/text/text_table.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace ptrain {
namespace {

constexpr std::array<std::string_view, 11> first_names{"sentence", "sentence1", "question1", "question",
                                                       "premise",  "text",      "text_a",    "#1 string",
                                                       "review",   "query",     "content"};
constexpr std::array<std::string_view, 8> second_names{"sentence2", "question2", "hypothesis", "text_b",
                                                       "#2 string", "answer",    "passage",    "sentence"};
constexpr std::array<std::string_view, 7> label_names{"label", "gold_label", "is_duplicate", "quality",
                                                      "class", "sentiment",  "labels"};
constexpr std::size_t none = SIZE_MAX;

struct Columns {
  std::size_t first = none;
  std::size_t second = none;
  std::size_t label = none;
  std::size_t count = 0;
};

/// Reads fields row by row, keeping the line number.
class RowReader {
 public:
  RowReader(std::string_view text, const std::string& name, TableForm form)
      : rest_(text), name_(name), csv_(form == TableForm::csv) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  /// Returns false at the end.
  bool next(std::vector<std::string>& fields) {
    while (!rest_.empty()) {
      fields.clear();
      line_ = next_line_;
      bool more = true;
      while (more) more = csv_ ? read_csv_field(fields) : read_tsv_field(fields);
      for (const std::string& field : fields) require_text(field);
      if (fields.size() > 1 || !fields[0].empty()) return true;
    }
    return false;
  }
  std::int64_t line() const { return line_; }

 private:
  void require_text(std::string_view field) const {
    if (field.find('\0') != field.npos) fail("{}:{}: not a text file (byte 0x00)", name_, line_);
    if (!is_utf8(field)) fail("{}:{}: not UTF-8", name_, line_);
  }

  /// Both return whether the row goes on.
  bool read_tsv_field(std::vector<std::string>& fields) {
    const std::size_t end = std::min(rest_.find_first_of("\t\n"), rest_.size());
    std::string_view field = rest_.substr(0, end);
    const bool more = end < rest_.size() && rest_[end] == '\t';
    if (!more && field.ends_with('\r')) field.remove_suffix(1);
    fields.emplace_back(field);
    return finish_field(end);
  }

  bool read_csv_field(std::vector<std::string>& fields) {
    std::string field;
    std::size_t at = 0;
    if (rest_.starts_with('"')) {
      for (at = 1;; ++at) {
        if (at >= rest_.size()) fail("{}:{}: a quoted field does not end", name_, line_);
        if (rest_[at] == '"') {
          if (at + 1 >= rest_.size() || rest_[at + 1] != '"') break;
          ++at;  // a doubled quote is a quote
        }
        if (rest_[at] == '\n') ++next_line_;
        field.push_back(rest_[at]);
      }
      ++at;
      if (at < rest_.size() && rest_[at] == '\r') ++at;
      if (at < rest_.size() && rest_[at] != ',' && rest_[at] != '\n') {
        fail("{}:{}: text after a closing quote", name_, next_line_);
      }
    } else {
      at = std::min(rest_.find_first_of(",\n"), rest_.size());
      field = rest_.substr(0, at);
      if (field.ends_with('\r')) field.pop_back();
    }
    fields.push_back(std::move(field));
    return finish_field(at);
  }

  bool finish_field(std::size_t end) {
    const bool at_newline = end < rest_.size() && rest_[end] == '\n';
    const bool more = end < rest_.size() && !at_newline;
    if (at_newline) ++next_line_;
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return more;
  }

  std::string_view rest_;
  const std::string& name_;
  bool csv_;
  std::int64_t line_ = 1;
  std::int64_t next_line_ = 1;
};

std::size_t find_named(const std::vector<std::string>& header, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  return none;
}

/// The columns that a header names; first == none when the row is no header.
Columns columns_of_header(std::vector<std::string> header, TableLabels labels) {
  for (std::string& field : header) {
    std::transform(field.begin(), field.end(), field.begin(),
                   [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  }
  Columns columns;
  columns.first = find_named(header, first_names);
  columns.second = find_named(header, second_names);
  columns.count = header.size();
  if (columns.first == columns.second) columns.second = none;  // "sentence" alone
  // QNLI's pair is question and sentence; "sentence" alone is looked up first.
  const std::size_t question = find_named(header, std::array<std::string_view, 1>{"question"});
  if (question != none && columns.second == none) {
    columns.second = columns.first == question ? none : columns.first;
    columns.first = question;
  }
  // MNLI has several annotators' labels; gold_label is the one that counts.
  columns.label = find_named(header, std::array<std::string_view, 1>{"gold_label"});
  if (columns.label == none) columns.label = find_named(header, label_names);
  if (columns.label == none && labels == TableLabels::required) columns.first = none;
  return columns;
}

bool is_number(std::string_view field) {
  return !field.empty() && field.size() <= 6 &&
         std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The header's columns where the sentences have the name that the user gave.
Columns columns_with(const std::vector<std::string>& header, const std::string& column, const std::string& name) {
  Columns columns = columns_of_header(header, TableLabels::optional);
  const auto found = std::find(header.begin(), header.end(), column);
  if (found == header.end()) fail("{}: its first row names no column \"{}\"", name, column);
  columns.first = static_cast<std::size_t>(found - header.begin());
  columns.second = none;
  return columns;
}

Columns columns_of_data(const std::vector<std::string>& row, const std::string& name, std::int64_t line,
                        TableLabels labels) {
  const std::size_t count = row.size();
  if (count == 1 && labels == TableLabels::optional) return {0, none, none, 1};
  if (count == 2) return is_number(row[0]) && !is_number(row[1]) ? Columns{1, none, 0, 2} : Columns{0, none, 1, 2};
  if (count == 3) return is_number(row[0]) && !is_number(row[2]) ? Columns{1, 2, 0, 3} : Columns{0, 1, 2, 3};
  if (count == 4 && is_number(row[1]) && (row[2].empty() || row[2] == "*")) return {3, none, 1, 4};
  fail(
      "{}:{}: cannot tell the columns from {} column(s) without a header; expected sentence and label, two sentences "
      "and "
      "a label, CoLA's four columns, or a header such as \"sentence\tlabel\"",
      name, line, count);
}

}  // namespace

TextTable parse_text_table(std::string_view text, const std::string& name, TableForm form, TableLabels labels,
                           const std::string& column) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    fail("{}: is UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8)", name);
  }
  TextTable table;
  table.name = name;
  RowReader reader(text, name, form);
  std::vector<std::string> fields;
  if (!reader.next(fields)) fail("{}: has no samples (the file is empty)", name);
  Columns columns = column.empty() ? columns_of_header(fields, labels) : columns_with(fields, column, name);
  bool have_row = columns.first == none;
  if (have_row) {
    columns = columns_of_data(fields, name, reader.line(), labels);
  } else {
    have_row = reader.next(fields);
  }
  table.has_second = columns.second != none;
  for (; have_row; have_row = reader.next(fields)) {
    if (fields.size() != columns.count) {
      fail("{}:{}: expected {} columns, got {}", name, reader.line(), columns.count, fields.size());
    }
    TextRow row;
    row.line = reader.line();
    row.first = std::move(fields[columns.first]);
    if (table.has_second) row.second = std::move(fields[columns.second]);
    if (columns.label != none) row.label = std::move(fields[columns.label]);
    if (row.label.empty() && labels == TableLabels::required) fail("{}:{}: the label is empty", name, row.line);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) fail("{}: has no samples (only a header)", name);
  return table;
}

}  // namespace ptrain
