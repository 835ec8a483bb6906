// Splits TSV and CSV into rows of fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// `rfc4180`: a field that begins with a quote ends at the next single one, and may contain separators and line ends.
/// `literal`: quotes are text, as in GLUE's files, except in fields that a writer of CSV has quoted: those with doubled
/// quotes inside, and all fields of a file whose first row is quoted throughout.
enum class Quoting { literal, rfc4180 };

struct RowLayout {
  char separator = '\t';
  Quoting quoting = Quoting::literal;
};

/// Reads fields row by row, counting lines; skips empty lines and, of CSV, a first line that declares the separator.
class RowReader {
 public:
  /// `text` and `name`, which is for messages, must outlive it.
  RowReader(std::string_view text, const std::string& name, RowLayout layout);

  /// False at the end. Throws Error{failed} naming a line that is not text or has a malformed quoted field.
  bool next(std::vector<std::string>& fields);
  /// Line of the last row, from 1.
  std::int64_t line() const { return line_; }
  /// Number of fields whose quotes were undone although quotes are literal.
  std::int64_t unquoted() const { return unquoted_; }
  /// Empty lines before the last row: how many, and the first.
  std::int64_t empty_lines() const { return empty_lines_; }
  std::int64_t first_empty_line() const { return first_empty_line_; }

 private:
  // All return whether the row continues.
  bool read_field(std::vector<std::string>& fields);
  bool read_literal(std::vector<std::string>& fields);
  bool read_quoted(std::vector<std::string>& fields);
  bool finish_field(std::size_t end);
  void undo_quotes(std::vector<std::string>& fields);

  std::string_view rest_;
  const std::string& name_;
  RowLayout layout_;
  bool all_quoted_ = false;
  bool is_first_ = true;
  std::int64_t line_ = 1;
  std::int64_t next_line_ = 1;
  std::int64_t unquoted_ = 0;
  std::int64_t empty_lines_ = 0, first_empty_line_ = 0;
};

/// Up to `most` rows from the start of `text`. Throws as RowReader does.
std::vector<std::vector<std::string>> read_first_rows(std::string_view text, const std::string& name, RowLayout layout,
                                                      std::size_t most);

/// The separator of a CSV: the one that a first line "sep=;" declares (Excel reads and writes it), a comma, or else a
/// semicolon, tab or bar that splits all of the first rows alike.
char find_separator(std::string_view text, const std::string& name);

/// `text` without the blanks around it.
std::string_view trim_blanks(std::string_view text);

/// Throws Error{failed} naming the line of a field that is not UTF-8, or has a zero byte.
void require_text(std::string_view field, const std::string& name, std::int64_t line);

}  // namespace ptrain
