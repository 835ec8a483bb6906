// Determines the sentence and label columns of a text table.
#pragma once

#include "core/data/text/text_table.h"

#include <cstddef>

namespace ptrain {

struct TableColumns {
  static constexpr std::size_t none = SIZE_MAX;

  std::size_t first = none;
  std::size_t second = none;
  std::size_t label = none;
  std::size_t count = 0;  // number of all columns
};

/// The columns of a table with `header`, its first row (or for JSON the first object's keys): those in options.columns,
/// or else those in options.learned that it has, or else by common names. first == none if no name was given and none
/// is known: the row is not a header. Throws Error{failed} naming `name`, the column and the existing ones, or a column
/// that several have the name of.
TableColumns columns_of_header(const std::vector<std::string>& header, const std::string& name,
                               const TextTableOptions& options);

/// The columns of a table without a header, from the number of fields in its first `rows`, and from which are numeric.
/// Throws Error{failed} naming `name` and `line` if these are not conclusive.
TableColumns columns_of_data(const std::vector<std::vector<std::string>>& rows, const std::string& name,
                             std::int64_t line, TableLabels labels);

/// "t.csv: column "question" is taken for the text, ...": the columns of a header that were found by common names;
/// empty where the options name them.
std::string describe_taken(const ColumnNames& taken, const std::string& name, const TextTableOptions& options);

/// "t.csv: has no header; ...": what each column was taken for.
std::string describe_guess(const TableColumns& columns, const std::string& name);

/// The first twenty names in quotes, for a message.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace ptrain
