// The rows in use of a model's dynamic table (core/base/row_index.h), for files: neither reads nor writes the others,
// whose memory was never touched. The device's memory is the host's.
#pragma once

#include "core/base/row_index.h"
#include "core/exec/variables.h"
#include "core/model/model.h"
#include "core/report/figures.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptrain {

/// Throws Error{usage} where the model has a dynamic table and the host cannot read the device's memory.
void require_rows_can_grow(const Model& model, const DeviceMemory& memory);

/// Whether the variables have a row index, and memory for it.
bool has_row_index(const Variables& variables);
RowIndex get_row_index(const Variables& variables);
/// The index's counts (RowIndex::Count), in place.
std::span<std::int64_t> get_row_counts(const Variables& variables);

/// While one exists, variables with a row for each of a dynamic table's (tables, moments, keys, scores) end after the
/// rows that have been numbered so far, and the free list after its own. It does nothing where there is no row index.
class RowsInUse {
 public:
  RowsInUse(const Model& model, Variables& variables);
  ~RowsInUse();
  RowsInUse(const RowsInUse&) = delete;
  RowsInUse& operator=(const RowsInUse&) = delete;

 private:
  void shorten(const std::string& name, std::int64_t rows);

  Variables& variables_;
  std::vector<std::pair<std::string, Variables::Entry>> whole_;
};

/// Makes the first `rows` rows numbered, of an index whose keys are still to be written. Throws Error{failed} naming
/// `file`, from which they are read, where there are not as many.
void set_row_count(const Variables& variables, std::int64_t rows, std::string_view file);

/// Gives the rows whose number was set the i64 keys in `keys`, from a file of weights: each counts as having occurred
/// once.
void write_row_keys(Variables& variables, std::span<const std::byte> keys);

/// Sets the counters of occurrences from those of a checkpoint, of which there may be another number.
void write_row_counters(const Variables& variables, std::span<const std::byte> counters);

/// The numbers of the rows that are not on the free list; none where there is no row index.
std::vector<std::int64_t> list_used_rows(const Variables& variables);

/// These rows of a variable of T.
template <typename T>
std::vector<T> gather_rows(const Variables& variables, std::string_view name, std::span<const std::int64_t> rows) {
  const Variables::Entry& entry = variables.at(name);
  const std::int64_t width = entry.desc.shape.rank() == 1 ? 1 : entry.desc.shape[1];
  std::vector<T> gathered;
  gathered.reserve(rows.size() * static_cast<std::size_t>(width));
  for (const std::int64_t row : rows) {
    const T* values = reinterpret_cast<const T*>(entry.data) + row * width;
    gathered.insert(gathered.end(), values, values + width);
  }
  return gathered;
}

/// How many rows are in use; none where there is no row index.
std::optional<TableReport> count_table_rows(const Variables& variables);

/// The names of the tables that grow.
std::set<std::string, std::less<>> list_dynamic_tables(const Model& model);
/// The names that variables as large as the table's capacity may have: tables, moments and the index's.
std::set<std::string, std::less<>> list_table_variables(const Model& model);

}  // namespace ptrain
