// Splits rows, determines the columns from the first row, then checks every row.
#include "core/data/text/text_table.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/text/table_columns.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <span>
#include <utility>

namespace ptrain {
namespace {

void require_text(std::string_view field, const std::string& name, std::int64_t line) {
  if (field.find('\0') != field.npos) fail("{}:{}: not a text file (byte 0x00)", name, line);
  if (!is_utf8(field)) fail("{}:{}: not UTF-8", name, line);
}

/// Reads fields row by row, counting lines.
class RowReader {
 public:
  RowReader(std::string_view text, const std::string& name, TableForm form)
      : rest_(text), name_(name), csv_(form == TableForm::csv) {}

  /// Returns false at the end.
  bool next(std::vector<std::string>& fields) {
    while (!rest_.empty()) {
      fields.clear();
      line_ = next_line_;
      bool more = true;
      while (more) more = csv_ ? read_csv_field(fields) : read_tsv_field(fields);
      for (const std::string& field : fields) require_text(field, name_, line_);
      if (fields.size() > 1 || !fields[0].empty()) return true;
    }
    return false;
  }
  std::int64_t line() const { return line_; }

 private:
  /// Both return whether the row continues.
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

/// Adds a row with its sentences and, if required, its label.
void add_row(TextRow row, TableLabels labels, TextTable& table) {
  if (row.label.empty() && labels == TableLabels::required) fail("{}:{}: the label is empty", table.name, row.line);
  table.rows.push_back(std::move(row));
}

/// Rejects a first row that was read as a sample but looks like a header with unknown names: its label is unique, while
/// the others repeat. Tables of a few rows are not tested.
void refuse_header(const TextTable& table) {
  constexpr std::size_t fewest_rows = 5;
  if (table.rows.size() < fewest_rows) return;
  std::set<std::string_view> others;
  for (const TextRow& row : std::span(table.rows).subspan(1)) others.insert(row.label);
  const TextRow& first = table.rows.front();
  if (others.contains(first.label) || 2 * others.size() > table.rows.size() - 1) return;
  fail("{}:{}: seems to be a header with unknown names (no other label is {}); name the columns in data.columns",
       table.name, first.line, quoted_name(first.label));
}

void read_separated(std::string_view text, TableForm form, TableLabels labels, const ColumnNames& names,
                    TextTable& table) {
  RowReader reader(text, table.name, form);
  std::vector<std::string> fields;
  if (!reader.next(fields)) fail("{}: has no samples (the file is empty)", table.name);
  TableColumns columns = columns_of_header(fields, table.name, labels, names);
  const bool headed = columns.first != TableColumns::none;
  bool have_row = !headed;
  if (!headed) {
    columns = columns_of_data(fields, table.name, reader.line(), labels);
  } else {
    have_row = reader.next(fields);
  }
  table.has_second = columns.second != TableColumns::none;
  for (; have_row; have_row = reader.next(fields)) {
    if (fields.size() != columns.count) {
      fail("{}:{}: expected {} columns, got {}", table.name, reader.line(), columns.count, fields.size());
    }
    TextRow row;
    row.line = reader.line();
    row.first = std::move(fields[columns.first]);
    if (table.has_second) row.second = std::move(fields[columns.second]);
    if (columns.label != TableColumns::none) row.label = std::move(fields[columns.label]);
    add_row(std::move(row), labels, table);
  }
  if (!headed && labels == TableLabels::required) refuse_header(table);
}

/// One line of JSON lines.
class JsonRow {
 public:
  JsonRow(std::string_view line, const std::string& name, std::int64_t number)
      : object_(parse_json(line)), name_(name), line_(number) {
    if (object_.is_array() && number == 1) {
      fail("{}: is one JSON array, expected an object per line (jq -c '.[]' makes them)", name);
    }
    if (!object_.is_object()) fail("{}:{}: expected a JSON object per line", name, number);
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object_.items()) keys.push_back(key);
    return keys;
  }

  std::string text(const std::string& key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      fail("{}:{}: has no {}; its keys are {}", name_, line_, quoted_name(key), quoted_list(keys()));
    }
    if (found->is_structured()) fail("{}:{}: {}: expected a text", name_, line_, quoted_name(key));
    if (found->is_null()) return {};
    std::string text = found->is_string() ? found->get<std::string>() : found->dump();
    require_text(text, name_, line_);
    return text;
  }
  std::string text_if_any(const std::string& key) const { return object_.contains(key) ? text(key) : std::string{}; }

 private:
  nlohmann::json object_;
  const std::string& name_;
  std::int64_t line_;
};

void read_json_lines(std::string_view text, TableLabels labels, const ColumnNames& names, TextTable& table) {
  std::vector<std::string> keys;  // of the first object, which determines the columns
  TableColumns columns;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    require_text(line, table.name, number);
    const JsonRow object(line, table.name, number);
    if (keys.empty()) {
      keys = object.keys();
      columns = columns_of_header(keys, table.name, labels, names);
      if (columns.first == TableColumns::none) {
        fail("{}: cannot determine which keys have text and label, name them in data.columns; its keys are {}",
             table.name, quoted_list(keys));
      }
      table.has_second = columns.second != TableColumns::none;
    }
    TextRow row;
    row.line = number;
    row.first = object.text(keys[columns.first]);
    if (table.has_second) row.second = object.text(keys[columns.second]);
    if (columns.label != TableColumns::none) {
      const std::string& key = keys[columns.label];
      row.label = labels == TableLabels::required ? object.text(key) : object.text_if_any(key);
    }
    add_row(std::move(row), labels, table);
  }
}

}  // namespace

float parse_target(const std::string& label, const std::string& name, std::int64_t line) {
  float value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error == std::errc() && end == label.data() + label.size() && std::isfinite(value)) return value;
  fail("{}:{}: expected a number for model.head regression, got {}", name, line, quoted_name(label));
}

std::optional<TableForm> detect_table_form(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".tsv") return TableForm::tsv;
  if (ending == ".csv") return TableForm::csv;
  if (ending == ".jsonl" || ending == ".json") return TableForm::jsonl;
  return std::nullopt;
}

TextTable parse_text_table(std::string_view text, const std::string& name, TableForm form, TableLabels labels,
                           const ColumnNames& columns) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TextTable table;
  table.name = name;
  if (form == TableForm::jsonl) {
    read_json_lines(text, labels, columns, table);
    if (table.rows.empty()) fail("{}: has no samples (the file is empty)", name);
  } else {
    read_separated(text, form, labels, columns, table);
    if (table.rows.empty()) fail("{}: has no samples (only a header)", name);
  }
  return table;
}

TextTable read_text_table(const std::filesystem::path& path, const TextTableOptions& options) {
  const std::string bytes = read_file(path);
  if (path.extension() == ".parquet" || bytes.starts_with("PAR1")) {
    fail("{}: Parquet is not supported; write the table as CSV or JSON lines (pandas: to_csv(\"train.csv\"))",
         path.string());
  }
  DecodedText file = decode_text(bytes, path.string(), options.encoding);
  TextTable table = parse_text_table(file.text, path.string(), detect_table_form(path).value_or(TableForm::tsv),
                                     options.labels, options.columns);
  table.note = std::move(file.note);
  return table;
}

}  // namespace ptrain
