// Text classification in tables: TSV, CSV and JSON lines.
#pragma once

#include "core/base/enums.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

struct TextRow {
  std::string first;
  std::string second;  // empty when the table has one sentence
  std::string label;
  std::int64_t line = 0;  // where the row starts, from 1
};

/// Column names as in the table's header, case-sensitive; empty: common names are tried.
struct ColumnNames {
  std::string first = {};
  std::string second = {};  // if `first` is given, empty means none
  std::string label = {};

  bool any() const { return !first.empty() || !second.empty() || !label.empty(); }
};

struct TextTable {
  std::string name;
  bool has_second = false;
  std::vector<TextRow> rows;
  std::vector<std::string> notes = {};  // on how it was read, one line each
  ColumnNames columns = {};             // those of the header that were read; empty without a header
};

/// jsonl: one object per line, whose keys are the columns.
enum class TableForm { tsv, csv, jsonl };

/// From a file's extension: .tsv, .csv, .jsonl, .ndjson and .json, ignoring case; none for others.
std::optional<TableForm> detect_table_form(const std::filesystem::path& path);

/// Whether every row must have a label. `optional` also accepts tables of sentences only, a column of them without a
/// header, and empty labels.
enum class TableLabels { required, optional };

struct TextTableOptions {
  TableLabels labels = TableLabels::required;
  ColumnNames columns = {};
  TextEncoding encoding = TextEncoding::automatic;
  ColumnNames learned = {};  // columns that a model was trained on: those that the table has win over common names
};

/// Parses a table. A header (GLUE's names: sentence, sentence1/2, question1/2, premise/hypothesis, text, ..., label,
/// gold_label, is_duplicate, Quality, or those in `columns`) determines the columns. Without one: two columns are
/// sentence and label in either order, three are two sentences and a label, four are CoLA's source, label, mark,
/// sentence; a first column that counts the rows is left out before. TSV takes quotes literally, as GLUE does, unless a
/// writer of CSV quoted the fields (Quoting::literal); CSV follows RFC 4180, with commas, semicolons, tabs or bars;
/// JSON numbers and labels are read as their text. Empty lines are skipped; blanks around labels are left out. Throws
/// Error with `name`:line when a row has the wrong number of columns or lacks one that is read, when a column in
/// `columns` does not exist, and when there are no rows.
TextTable parse_text_table(std::string_view text, const std::string& name, TableForm form,
                           const TextTableOptions& options = {});

/// A label as a finite number. Throws Error{failed} with `name`:line if it is not one.
float parse_target(const std::string& label, const std::string& name, std::int64_t line);

/// The table in a file, in the form of its extension, else TSV. Throws as parse_text_table and decode_text do, and
/// where the file cannot be read or is Parquet.
TextTable read_text_table(const std::filesystem::path& path, const TextTableOptions& options);

}  // namespace ptrain
