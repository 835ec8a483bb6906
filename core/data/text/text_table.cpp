// Splits rows, determines the columns from the first row, then checks every row.
#include "core/data/text/text_table.h"

#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/data/text/row_reader.h"
#include "core/data/text/table_columns.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"
#include "core/io/packed_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>
#include <span>
#include <utility>

namespace ptrain {
namespace {

using Names = std::vector<std::string>;

/// Whether a field is how pandas and others write that a value is missing.
bool is_missing(std::string_view field) {
  constexpr std::array<std::string_view, 7> words{"", "nan", "null", "none", "n/a", "na", "<na>"};
  std::string word(trim_blanks(field));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Rows that have something worth a note: how many, and the first.
struct Seen {
  std::int64_t rows = 0, line = 0;

  void add(std::int64_t at) {
    if (rows++ == 0) line = at;
  }
};

/// Adds rows to a table, and notes on what they have.
class RowCollector {
 public:
  RowCollector(TableLabels labels, TextTable& table) : labels_(labels), table_(table) {}

  /// Adds a row with its sentences and, if required, its label.
  void add(TextRow row) {
    const std::string_view label = trim_blanks(row.label);
    if (label.empty() && labels_ == TableLabels::required) fail("{}:{}: the label is empty", table_.name, row.line);
    if (label.size() != row.label.size()) {
      trimmed_.add(row.line);
      row.label = std::string(label);
    }
    if (is_missing(row.first) || (table_.has_second && is_missing(row.second))) missing_.add(row.line);
    if (!row.label.empty() && is_missing(row.label)) unlabelled_.add(row.line);
    table_.rows.push_back(std::move(row));
  }

  void add_notes() {
    add_note(missing_, "{}: {} of {} rows have an empty text, or nan, null or the like for one (first: line {})");
    add_note(unlabelled_, "{}: {} of {} rows have nan, null or the like as label (first: line {})");
    add_note(trimmed_, "{}: {} of {} labels have blanks around them, which are left out (first: line {})");
  }

 private:
  void add_note(const Seen& seen, const char* text) {
    if (seen.rows == 0) return;
    table_.notes.push_back(fmt::format(fmt::runtime(text), table_.name, seen.rows, table_.rows.size(), seen.line));
  }

  TableLabels labels_;
  TextTable& table_;
  Seen missing_, unlabelled_, trimmed_;
};

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

/// Whether a row repeats the table's header, as where files were joined. Throws Error where it does in another order.
bool repeats_header(Names& row, const Names& header, const std::string& name, std::int64_t line) {
  if (!row.empty()) row.front().erase(0, row.front().size() - without_byte_order_mark(row.front()).size());
  if (row == header) return true;
  if (!std::ranges::is_permutation(row, header)) return false;
  fail(
      "{}:{}: a second header, whose columns have another order than the first one's: convert the files before joining "
      "them",
      name, line);
}

/// The names of the columns that were found in `header`.
ColumnNames names_of(const TableColumns& columns, const Names& header) {
  const auto name = [&](std::size_t at) { return at == TableColumns::none ? std::string{} : header[at]; };
  return {name(columns.first), name(columns.second), name(columns.label)};
}

/// Says which columns were found by common names, unless there are no others.
void note_taken_columns(const TableColumns& columns, const TextTableOptions& options, TextTable& table) {
  constexpr std::size_t text_and_label = 2;
  if (columns.count <= text_and_label) return;
  if (std::string note = describe_taken(table.columns, table.name, options); !note.empty()) {
    table.notes.push_back(std::move(note));
  }
}

void read_rows(std::string_view text, RowLayout layout, const TextTableOptions& options, TextTable& table) {
  constexpr std::size_t first_rows = 20;
  RowReader reader(text, table.name, layout);
  Names fields;
  if (!reader.next(fields)) fail("{}: has no samples (the file is empty)", table.name);
  TableColumns columns = columns_of_header(fields, table.name, options);
  const bool headed = columns.first != TableColumns::none;
  Names header;
  if (headed) {
    table.columns = names_of(columns, fields);
    note_taken_columns(columns, options, table);
    header = fields;
  } else {
    const auto rows = read_first_rows(text, table.name, layout, first_rows);
    columns = columns_of_data(rows, table.name, reader.line(), options.labels);
    if (columns.count > 2) table.notes.push_back(describe_guess(columns, table.name));
  }
  table.has_second = columns.second != TableColumns::none;
  RowCollector collector(options.labels, table);
  Seen headers;
  for (bool have_row = headed ? reader.next(fields) : true; have_row; have_row = reader.next(fields)) {
    if (headed && repeats_header(fields, header, table.name, reader.line())) {
      headers.add(reader.line());
      continue;
    }
    if (fields.size() != columns.count) {
      fail("{}:{}: expected {} columns, got {}", table.name, reader.line(), columns.count, fields.size());
    }
    TextRow row;
    row.line = reader.line();
    row.first = std::move(fields[columns.first]);
    if (table.has_second) row.second = std::move(fields[columns.second]);
    if (columns.label != TableColumns::none) row.label = std::move(fields[columns.label]);
    collector.add(std::move(row));
  }
  if (!headed && options.labels == TableLabels::required) refuse_header(table);
  if (reader.unquoted() > 0) {
    table.notes.push_back(
        fmt::format("{}: {} fields are quoted as in CSV; their quotes are undone", table.name, reader.unquoted()));
  }
  if (headers.rows > 0) {
    table.notes.push_back(fmt::format("{}: {} repeating the header left out (first: line {})", table.name,
                                      counted(headers.rows, "line"), headers.line));
  }
  if (reader.empty_lines() > 0) {
    table.notes.push_back(fmt::format("{}: {} empty lines are left out (first: line {})", table.name,
                                      reader.empty_lines(), reader.first_empty_line()));
  }
  collector.add_notes();
}

void read_separated(std::string_view text, TableForm form, const TextTableOptions& options, TextTable& table) {
  if (form == TableForm::csv) {
    const char separator = find_separator(text, table.name);
    if (separator != ',') {
      table.notes.push_back(fmt::format("{}: its fields are separated by {}, not by commas", table.name,
                                        separator == ';'   ? "semicolons"
                                        : separator == '|' ? "bars"
                                                           : "tabs"));
    }
    return read_rows(text, {separator, Quoting::rfc4180}, options, table);
  }
  const TextTable empty = table;
  try {
    read_rows(text, {}, options, table);
  } catch (const Error& error) {  // unless its fields are quoted as in CSV, with tabs or line ends inside
    if (text.find('"') == text.npos) throw;
    table = empty;
    table.notes.push_back(fmt::format("{}: its fields are quoted as in CSV; their quotes are undone", table.name));
    try {
      read_rows(text, {'\t', Quoting::rfc4180}, options, table);
    } catch (const Error&) {
      throw error;
    }
  }
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

void read_json_lines(std::string_view text, const TextTableOptions& options, TextTable& table) {
  Names keys;  // of the first object, which determines the columns
  TableColumns columns;
  RowCollector collector(options.labels, table);
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    require_text(line, table.name, number);
    const JsonRow object(line, table.name, number);
    if (keys.empty()) {
      keys = object.keys();
      columns = columns_of_header(keys, table.name, options);
      if (columns.first == TableColumns::none) {
        fail("{}: cannot determine which keys have text and label, name them in data.columns; its keys are {}",
             table.name, quoted_list(keys));
      }
      table.has_second = columns.second != TableColumns::none;
      table.columns = names_of(columns, keys);
      note_taken_columns(columns, options, table);
    }
    TextRow row;
    row.line = number;
    row.first = object.text(keys[columns.first]);
    if (table.has_second) row.second = object.text(keys[columns.second]);
    if (columns.label != TableColumns::none) {
      const std::string& key = keys[columns.label];
      row.label = options.labels == TableLabels::required ? object.text(key) : object.text_if_any(key);
    }
    collector.add(std::move(row));
  }
  collector.add_notes();
}

}  // namespace

float parse_target(const std::string& label, const std::string& name, std::int64_t line) {
  float value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error == std::errc() && end == label.data() + label.size() && std::isfinite(value)) return value;
  fail("{}:{}: expected a number for model.head regression, got {}", name, line, quoted_name(label));
}

std::optional<TableForm> detect_table_form(const std::filesystem::path& path) {
  std::string ending = remove_packed_ending(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (ending == ".tsv") return TableForm::tsv;
  if (ending == ".csv") return TableForm::csv;
  if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json") return TableForm::jsonl;
  return std::nullopt;
}

TextTable parse_text_table(std::string_view text, const std::string& name, TableForm form,
                           const TextTableOptions& options) {
  text = without_byte_order_mark(text);
  TextTable table;
  table.name = name;
  if (form == TableForm::jsonl) {
    read_json_lines(text, options, table);
    if (table.rows.empty()) fail("{}: has no samples (the file is empty)", name);
  } else {
    read_separated(text, form, options, table);
    if (table.rows.empty()) fail("{}: has no samples (only a header)", name);
  }
  return table;
}

TextTable read_text_table(const std::filesystem::path& path, const TextTableOptions& options) {
  const std::string bytes = read_unpacked_file(path);
  if (path.extension() == ".parquet" || bytes.starts_with("PAR1")) {
    fail("{}: Parquet is not supported; write the table as CSV or JSON lines (pandas: to_csv(\"train.csv\"))",
         path.string());
  }
  DecodedText file = decode_text(bytes, path.string(), options.encoding);
  TextTable table =
      parse_text_table(file.text, path.string(), detect_table_form(path).value_or(TableForm::tsv), options);
  if (!file.note.empty()) table.notes.insert(table.notes.begin(), std::move(file.note));
  return table;
}

}  // namespace ptrain
