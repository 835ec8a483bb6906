// Rows of tables that grow: a row is made for a key when training first reads it (core/base/row_index.h).
#pragma once

#include "core/base/initializer.h"
#include "core/base/row_index.h"
#include "core/base/row_shard.h"
#include "core/graph/op.h"

#include <optional>

namespace ptrain {

/// When rows are taken from keys that have become rare.
struct RowSweep {
  std::int64_t every = 0;  // steps
  float decay = 1;         // of a row's score at every sweep; each occurrence of its key adds 1
  float evict_below = 0;   // scores after that
};

struct FindRowsAttributes {
  bool inserts = false;          // training: keys get rows; otherwise those without one have none
  std::int64_t admit_after = 1;  // occurrences until a key gets a row; up to 255
  std::optional<RowSweep> sweep = {};
  RowShard shard = {};  // whose keys they are, where ranks divide the table
  /// The keys are the next step's: rows that are taken from keys now may still get a gradient, and are given to others
  /// from the step after on. Without keys on any rank there is no next step.
  bool ahead = false;
};

/// inputs:  keys i64 [...], -1: none; the index's tensors (row_index), of which seen is given where admit_after is
///          above 1, scores and freed where rows are swept; with `inserts` the op writes them. received_counts of
///          ExchangeIds (optional): how many keys there are; nothing reads or writes what is behind them.
/// outputs: rows i32 [...], -1 for keys without a row; with `inserts` also fresh i32 [n]: the row at the place of the
///          key's occurrence that made it, else -1.
/// Keys get rows in the order of the batch, whatever the number of threads. Where the index says that these keys have
/// been counted before (RowIndex::ahead), they are found alone. Throws Error{failed} when a key gets a row
/// and none is left.
class FindRows final : public OpWith<FindRowsAttributes> {
 public:
  enum Input : int { keys, index_keys, slots, counts, seen, scores, freed, received_counts, input_count };
  enum Output : int { rows, fresh };
  using OpWith::OpWith;

  std::string_view type() const override { return "find_rows"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return attributes_.inserts && input >= index_keys && input <= freed; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

struct StartRowsAttributes {
  Initializer initializer;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;  // random_stream_number() of the table's name
};

/// inputs: fresh i32 [n] of FindRows; its keys i64 [...], n in all; table f32 [V, H] or [V], written in place: rows
/// that are fresh get their initial values, which depend on the key, the seed and the stream alone; received_counts as
/// of FindRows (optional).
class StartRows final : public OpWith<StartRowsAttributes> {
 public:
  enum Input : int { fresh, keys, table, received_counts, input_count };
  using OpWith::OpWith;

  std::string_view type() const override { return "start_rows"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == table; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc>) const override {
    return {0, static_cast<double>(inputs[fresh].bytes())};
  }
};

}  // namespace ptrain
