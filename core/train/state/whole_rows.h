// A dynamic table of which each rank has the rows of its keys, whole on rank 0, for files, and back.
#pragma once

#include "core/base/row_shard.h"
#include "core/exec/variables.h"
#include "core/model/model.h"
#include "core/report/figures.h"
#include "core/train/ranks.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ptrain {

/// What WholeState has of a dynamic table. Rank 0's whole tensors have room for model.hash_buckets rows, but only those
/// in use take memory; nobody searches them, so they have no slots.
class WholeRows {
 public:
  /// Puts a whole tensor in the place of the variable of that name.
  using Replace = std::function<void(const std::string& name, Variables::Entry whole)>;
  enum class Of { all, parameters };  // parameters: no moments and what else a model's file has not

  /// It does nothing for models without a dynamic table, and on one rank. The ranks must outlive it.
  WholeRows(const Model& model, const Variables& variables, const Ranks& ranks, Of of, const Replace& replace);
  ~WholeRows();
  WholeRows(const WholeRows&) = delete;
  WholeRows& operator=(const WholeRows&) = delete;

  /// All variables of the table.
  const std::set<std::string>& names() const { return names_; }
  /// Collects all ranks' rows in use on rank 0, rank by rank.
  void gather();
  /// Gives every rank the rows of its keys. Throws Error{failed} where it has no room for them.
  void scatter();

 private:
  /// What there is of every row: an own part and, on rank 0, the whole.
  struct RowValues {
    std::byte* own = nullptr;
    std::byte* whole = nullptr;
    std::size_t row_bytes = 0;
  };
  struct Memory {
    void* at;
    std::size_t bytes;
  };

  void add_rows(const std::vector<std::string>& names, const Variables& variables, const Replace& replace);
  /// Rank 0's tensor of zeros in place of some that share memory; null on other ranks.
  std::byte* make_whole(const std::vector<std::string>& names, const Variables& variables, std::int64_t first_dim,
                        const Replace& replace);
  void broadcast(std::span<std::byte> bytes, int root) const { ranks_.communicator()->broadcast(bytes, root); }
  std::vector<std::int64_t> list_own_rows() const;
  std::vector<std::int64_t> find_own_rows(std::int64_t whole_rows) const;
  void gather_rows(const RowValues& values, std::span<const std::int64_t> rows, std::int64_t count, int rank,
                   std::int64_t at) const;
  void scatter_rows(const RowValues& values, std::span<const std::int64_t> rows, std::int64_t count) const;

  const Ranks& ranks_;
  RowShard shard_;
  std::int64_t whole_capacity_ = 0;
  std::set<std::string> names_;
  std::vector<Memory> memory_;
  std::vector<RowValues> values_;
  RowValues keys_, counts_, seen_;  // seen_: counters of occurrences, in blocks
  std::int64_t seen_blocks_ = 0;    // of each rank
  std::span<std::int32_t> slots_;
  std::int64_t own_capacity_ = 0;
};

/// The rows in use of all ranks, of `capacity`; none where there is no row index. All ranks call it.
std::optional<TableReport> count_all_rows(const Variables& variables, const Ranks& ranks, std::int64_t capacity);

}  // namespace ptrain
