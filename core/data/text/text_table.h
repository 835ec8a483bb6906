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

struct TextTable {
  std::string name;
  bool has_second = false;
  std::vector<TextRow> rows;
  std::string note = {};  // a line on the file's encoding; empty where it is UTF-8, or was given
};

/// jsonl: an object per line, whose keys are the columns.
enum class TableForm { tsv, csv, jsonl };

/// By a file's ending: .tsv, .csv, .jsonl and .json, in upper or lower case; none of other endings.
std::optional<TableForm> detect_table_form(const std::filesystem::path& path);

/// Whether every row must have a label. `optional` also takes tables of sentences alone, a column of them without a
/// header, and empty labels.
enum class TableLabels { required, optional };

/// Columns by their names in the table's header, letter by letter; empty: found by the usual names.
struct ColumnNames {
  std::string first = {};
  std::string second = {};  // where `first` is given: empty for none
  std::string label = {};

  bool any() const { return !first.empty() || !second.empty() || !label.empty(); }
};

/// Parses a table. With a header (GLUE's names: sentence, sentence1/2, question1/2, premise/hypothesis, text, ...,
/// label, gold_label, is_duplicate, Quality, or those in `columns`) its names decide. Without one: two columns are
/// sentence and label in either order, three are two sentences and a label, four are CoLA's source, label, mark,
/// sentence. TSV takes quotes literally, as GLUE does; CSV follows RFC 4180; in JSON, numbers and label stand for their
/// text. Empty lines are skipped. Throws Error with `name`:line when a row has the wrong number of columns or lacks one
/// that is read, when a column that `columns` names is not there, and when there are no rows.
TextTable parse_text_table(std::string_view text, const std::string& name, TableForm form,
                           TableLabels labels = TableLabels::required, const ColumnNames& columns = {});

/// The number that a label is, finite. Throws Error{failed} with `name`:line where it is none.
float parse_target(const std::string& label, const std::string& name, std::int64_t line);

struct TextTableOptions {
  TableLabels labels = TableLabels::required;
  ColumnNames columns = {};
  TextEncoding encoding = TextEncoding::automatic;
};

/// The table in a file, of the form that its ending says, else TSV. Throws as parse_text_table and decode_text do, and
/// where the file cannot be read or is Parquet.
TextTable read_text_table(const std::filesystem::path& path, const TextTableOptions& options);

}  // namespace ptrain
