// Tables whose rows the ranks divide (dist.tables: rows): whole on rank 0, for files, and back.
#pragma once

#include "core/exec/variables.h"
#include "core/model/model.h"
#include "core/train/ranks.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptrain {

/// While one exists, rank 0 has whole tables and moments, of zeros at first, in place of its rows of them, under the
/// same names; so what reads and writes files sees no difference. Every rank makes one, and all calls. It does nothing
/// where no table is divided.
class WholeTables {
 public:
  /// All must outlive it. The host reads and writes the variables' memory.
  WholeTables(const Model& model, Variables& variables, const Ranks& ranks);
  ~WholeTables();
  WholeTables(const WholeTables&) = delete;
  WholeTables& operator=(const WholeTables&) = delete;

  /// The variables that are divided tables, or moments of them.
  std::set<std::string> names() const;
  /// Collects every rank's rows on rank 0.
  void gather();
  /// Gives every rank its rows of rank 0's whole tables.
  void scatter();

 private:
  struct Table {
    std::vector<std::pair<std::string, Variables::Entry>> variables;  // of one memory, which has this rank's rows
    TensorDesc whole;
    std::vector<std::byte> memory = {};  // of the whole table, on rank 0

    std::int64_t rows() const { return whole.shape[0]; }
    std::size_t row_bytes() const { return whole.bytes() / static_cast<std::size_t>(rows()); }
    std::byte* own_row(std::int64_t local) const {
      return variables.front().second.data + static_cast<std::size_t>(local) * row_bytes();
    }
    std::byte* row(std::int64_t row) { return memory.data() + static_cast<std::size_t>(row) * row_bytes(); }
    /// Rows that are sent at once.
    std::int64_t chunk() const;
  };

  void add(const std::vector<std::string>& names, TensorDesc whole);

  Variables& variables_;
  const Ranks& ranks_;
  std::vector<Table> tables_;
};

}  // namespace ptrain
