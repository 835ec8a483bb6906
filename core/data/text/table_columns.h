// Which columns of a text table are the sentences and the label.
#pragma once

#include "core/data/text/text_table.h"

#include <cstddef>

namespace ptrain {

struct TableColumns {
  static constexpr std::size_t none = SIZE_MAX;

  std::size_t first = none;
  std::size_t second = none;
  std::size_t label = none;
  std::size_t count = 0;  // of all columns
};

/// The columns of a table whose first row (or, of JSON, whose first object's keys) is `header`, by the names that the
/// user gave and else by usual ones. first == none where no name was given and none is known: the row is no header.
/// Throws Error{failed} naming `name`, the column and those that there are.
TableColumns columns_of_header(const std::vector<std::string>& header, const std::string& name, TableLabels labels,
                               const ColumnNames& columns);

/// The columns of a table without a header, by how many its first row has and which are numbers. Throws Error{failed}
/// naming `name` and `line` where that does not tell.
TableColumns columns_of_data(const std::vector<std::string>& row, const std::string& name, std::int64_t line,
                             TableLabels labels);

/// Names for a message, in quotes: the first twenty.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace ptrain
