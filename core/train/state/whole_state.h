// What ranks divide among themselves (dist.shard: moments and masters; dist.tables: rows of tables, dynamic ones too):
// whole on rank 0, for files, and back.
#pragma once

#include "core/base/rank_slice.h"
#include "core/exec/variables.h"
#include "core/model/model.h"
#include "core/passes/optimizer.h"
#include "core/train/ranks.h"
#include "core/train/state/whole_rows.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptrain {

/// While one exists, rank 0 has whole tensors, of zeros at first, in the host's memory: under the names of those that
/// every rank has rows of, and flat::master, flat::moment1 ... beside the slices. The fp32 parameters then lie in
/// flat::master. So what reads and writes files sees no difference. Every rank makes one, and all calls. It does
/// nothing where nothing is divided.
class WholeState {
 public:
  using Of = WholeRows::Of;

  /// The first three must outlive it.
  WholeState(const Model& model, Variables& variables, const Ranks& ranks, const std::optional<Shard>& shard,
             Of of = Of::all);
  ~WholeState();
  WholeState(const WholeState&) = delete;
  WholeState& operator=(const WholeState&) = delete;

  /// The whole tensors.
  std::set<std::string> names() const;
  /// Collects every rank's parts on rank 0.
  void gather();
  /// Gives every rank its parts of rank 0's whole tensors.
  void scatter();

 private:
  /// A table, or moments of it.
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

  /// A flat buffer of which ranks keep slices.
  struct Buffer {
    std::string name;
    std::int64_t divided;  // elements, of which ranks keep slices; the rest lies behind them
    std::int64_t rest;     // elements that every rank has
    std::vector<float> memory = {};

    std::string slices() const { return name + std::string(flat::shard); }
    std::string rest_name() const { return name + std::string(flat::rest); }
  };

  void add_table(const std::vector<std::string>& names, TensorDesc whole);
  void add_buffer(const char* name, std::int64_t divided);
  void add_masters(Buffer& masters);
  void replace(const std::string& name, Variables::Entry whole);
  void gather(Buffer& buffer);
  void scatter(const Buffer& buffer);
  void gather(Table& table);
  void scatter(Table& table);

  Variables& variables_;
  const Ranks& ranks_;
  std::optional<Shard> shard_;
  std::vector<Table> tables_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<std::string, std::optional<Variables::Entry>>> replaced_;  // rank 0's own; none: there was none
  WholeRows rows_;
};

}  // namespace ptrain
