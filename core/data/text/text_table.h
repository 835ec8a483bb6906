// TSV and CSV files of text classification: which columns are the sentences and the label.
#pragma once

#include <cstdint>
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
};

enum class TableForm { tsv, csv };

/// Whether every row must have a label. `optional` also takes tables of sentences alone, a column of them without a
/// header, and empty labels.
enum class TableLabels { required, optional };

/// Parses a table. With a header (GLUE's names: sentence, sentence1/2, question1/2, premise/hypothesis, text, ...,
/// label, gold_label, is_duplicate, Quality) its names decide. Without one: two columns are sentence and label in
/// either order, three are two sentences and a label, four are CoLA's source, label, mark, sentence. TSV takes quotes
/// literally, as GLUE does; CSV follows RFC 4180. Empty lines are skipped. Throws Error with `name`:line when a row has
/// the wrong number of columns, and when there are no rows. `column`, unless empty, is the header's name of the
/// sentences.
TextTable parse_text_table(std::string_view text, const std::string& name, TableForm form,
                           TableLabels labels = TableLabels::required, const std::string& column = {});

}  // namespace ptrain
