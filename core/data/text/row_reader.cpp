#include "core/data/text/row_reader.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"

#include <algorithm>
#include <utility>

namespace ptrain {
namespace {

/// Whether a writer of CSV can have quoted this field: every quote inside is doubled.
bool is_quoted(std::string_view field) {
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return false;
  field = field.substr(1, field.size() - 2);
  for (std::size_t at = field.find('"'); at != field.npos; at = field.find('"', at + 2)) {
    if (at + 1 >= field.size() || field[at + 1] != '"') return false;
  }
  return true;
}

std::string without_quotes(std::string_view field) {
  std::string text;
  for (std::size_t at = 1; at + 1 < field.size(); ++at) {
    text.push_back(field[at]);
    if (field[at] == '"') ++at;  // a doubled quote is a quote
  }
  return text;
}

/// The separator of a first line such as "sep=;"; 0 without one.
char declared_separator(std::string_view text) {
  constexpr std::string_view prefix = "sep=", separators = ",;\t|";
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const bool declares = line.size() == prefix.size() + 1 && line.starts_with(prefix);
  return declares && separators.find(line.back()) != separators.npos ? line.back() : '\0';
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == text.npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

void require_text(std::string_view field, const std::string& name, std::int64_t line) {
  if (field.find('\0') != field.npos) fail("{}:{}: not a text file (byte 0x00)", name, line);
  if (!is_utf8(field)) fail("{}:{}: not UTF-8", name, line);
}

RowReader::RowReader(std::string_view text, const std::string& name, RowLayout layout)
    : rest_(text), name_(name), layout_(layout) {
  if (layout.quoting != Quoting::rfc4180 || declared_separator(text) == '\0') return;
  rest_.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  ++next_line_;
}

bool RowReader::next(std::vector<std::string>& fields) {
  std::int64_t skipped = 0, first_skipped = 0;
  while (!rest_.empty()) {
    fields.clear();
    line_ = next_line_;
    while (read_field(fields)) {
    }
    for (const std::string& field : fields) require_text(field, name_, line_);
    if (fields.size() == 1 && fields[0].empty()) {
      if (skipped++ == 0) first_skipped = line_;
      continue;
    }
    if (skipped > 0 && empty_lines_ == 0) first_empty_line_ = first_skipped;
    empty_lines_ += skipped;
    if (layout_.quoting == Quoting::literal) undo_quotes(fields);
    return true;
  }
  return false;
}

void RowReader::undo_quotes(std::vector<std::string>& fields) {
  if (std::exchange(is_first_, false)) all_quoted_ = std::all_of(fields.begin(), fields.end(), is_quoted);
  for (std::string& field : fields) {
    if (!is_quoted(field) || (!all_quoted_ && field.find('"', 1) == field.size() - 1)) continue;
    field = without_quotes(field);
    ++unquoted_;
  }
}

bool RowReader::read_field(std::vector<std::string>& fields) {
  const bool quoted = layout_.quoting == Quoting::rfc4180 && rest_.starts_with('"');
  return quoted ? read_quoted(fields) : read_literal(fields);
}

bool RowReader::read_literal(std::vector<std::string>& fields) {
  const char ends[] = {layout_.separator, '\n'};
  const std::size_t end = std::min(rest_.find_first_of({ends, 2}), rest_.size());
  std::string_view field = rest_.substr(0, end);
  const bool more = end < rest_.size() && rest_[end] == layout_.separator;
  if (!more && field.ends_with('\r')) field.remove_suffix(1);
  fields.emplace_back(field);
  return finish_field(end);
}

bool RowReader::read_quoted(std::vector<std::string>& fields) {
  std::string field;
  std::size_t at = 1;
  for (;; ++at) {
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
  if (at < rest_.size() && rest_[at] != layout_.separator && rest_[at] != '\n') {
    fail("{}:{}: text after a closing quote", name_, next_line_);
  }
  fields.push_back(std::move(field));
  return finish_field(at);
}

bool RowReader::finish_field(std::size_t end) {
  const bool at_newline = end < rest_.size() && rest_[end] == '\n';
  const bool more = end < rest_.size() && !at_newline;
  if (at_newline) ++next_line_;
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return more;
}

std::vector<std::vector<std::string>> read_first_rows(std::string_view text, const std::string& name, RowLayout layout,
                                                      std::size_t most) {
  RowReader reader(text, name, layout);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> fields;
  while (rows.size() < most && reader.next(fields)) rows.push_back(fields);
  return rows;
}

char find_separator(std::string_view text, const std::string& name) {
  if (const char declared = declared_separator(text); declared != '\0') return declared;
  constexpr std::size_t tried_rows = 100, fewest_rows = 2;
  for (const char separator : {',', ';', '\t', '|'}) {
    try {
      const auto rows = read_first_rows(text, name, {separator, Quoting::rfc4180}, tried_rows);
      const bool alike = std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
        return row.size() > 1 && row.size() == rows.front().size();
      });
      if (alike && rows.size() >= fewest_rows) return separator;
    } catch (const Error&) {  // not this one; what is wrong is said when the rows are read
      continue;
    }
  }
  return ',';
}

}  // namespace ptrain
