// The rows of a divided table that a rank's batch reads, exchanged with the ranks that have them, and their gradients
// (core/passes/exchange_unique_rows.h). Every id travels once, however often the batch has it.
//
// Shapes are those of the worst case. How much of them a step uses is in `counts`, `received_counts` and `used`;
// nothing reads or writes the rest, which costs memory alone.
#pragma once

#include "core/base/row_shard.h"
#include "core/graph/op.h"

#include <algorithm>

namespace ptrain {

/// The sizes of an exchange.
struct RowExchange {
  RowShard shard;
  std::int64_t ids = 0;   // that each rank's batch has at most
  std::int64_t rows = 0;  // that each rank has of the table

  /// Ids that one rank asks another for, at most. Keys may have no rows.
  std::int64_t most() const { return shard.by_key ? ids : std::min(ids, rows); }
  /// Ids that a rank is asked for, at most.
  std::int64_t received() const { return shard.world_size * most(); }
  /// Different rows that it is asked for, at most.
  std::int64_t merged() const { return std::min(received(), rows); }
  /// Rows that a rank sends another in one round: a quarter more than if all had as many. So the memory for rows on
  /// their way does not grow with the ranks, and only very uneven ids take several rounds.
  std::int64_t chunk() const { return std::min(most(), (ids + ids / 4 + shard.world_size - 1) / shard.world_size + 1); }
  /// This rank's row of an id that it is asked for. Those of keys have been found: -1 for a key that has none.
  std::int64_t row(std::int64_t received) const { return shard.by_key ? received : shard.local(received); }
};

/// inputs: ids i32 or i64 [...], n of them; those that are none (RowShard::is_id) have no number.  outputs: inverse i32
/// [...], the number of each id among the different ones, -1 for none; unique, as ids, [n]: these, by the rank that has
/// their row (RowShard), then by their first place; counts i32 [ranks]: how many of them each rank has.
class UniqueIds final : public OpWith<RowShard> {
 public:
  enum Output { inverse, unique, counts };
  using OpWith::OpWith;

  std::string_view type() const override { return "unique_ids"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

/// An op whose attributes are an exchange's sizes.
class RowExchangeOp : public OpWith<RowExchange> {
 public:
  using OpWith::OpWith;
  std::string attributes() const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  /// Bytes that it sends for each different id, from its outputs.
  virtual std::int64_t bytes_of_id(std::span<const TensorDesc> /*outputs*/) const { return 0; }
};

/// Starts to tell every rank how many ids it is asked for.  inputs: counts of UniqueIds.  outputs: heard i32 [ranks,
/// 2], from each rank: how many ids it asks this one for, and the most that it asks any; told, as heard, scratch.
class ExchangeCounts final : public RowExchangeOp {
 public:
  enum Input { counts };
  enum Output { heard, told };
  using RowExchangeOp::RowExchangeOp;

  std::string_view type() const override { return "exchange_counts"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
};

/// Starts to send every rank the ids of its rows.  inputs: unique, counts of UniqueIds; heard of ExchangeCounts.
/// outputs: received, as unique, [RowExchange::received]: what this rank is asked for, by rank; received_counts i32
/// [ranks + 1], which is there at once: by rank, then the most that any rank asks another for.
class ExchangeIds final : public RowExchangeOp {
 public:
  enum Input { unique, counts, heard };
  enum Output { received, received_counts };
  using RowExchangeOp::RowExchangeOp;

  std::string_view type() const override { return "exchange_ids"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  std::int64_t bytes_of_id(std::span<const TensorDesc> outputs) const override;
};

/// Starts to send every rank the rows that it has asked for, of one table or several.  inputs: counts of UniqueIds;
/// received (of keys: FindRows::rows of them), received_counts of ExchangeIds; then tables f32 [RowExchange::rows, H],
/// this rank's rows, H of each its own.  outputs: for each table rows f32 [n, H] of the ids in UniqueIds::unique, zeros
/// for keys without a row; then for each sent f32 [ranks * RowExchange::chunk, H], scratch. In place of a table that is
/// absent, rows [n, 1] of ones for keys that have a row.
class ExchangeRows final : public RowExchangeOp {
 public:
  enum Input { counts, received, received_counts, tables };
  using RowExchangeOp::RowExchangeOp;

  std::string_view type() const override { return "exchange_rows"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  std::int64_t bytes_of_id(std::span<const TensorDesc> outputs) const override;
};

/// The rows that this rank was asked for, each once.  inputs: received (of keys: FindRows::rows of them),
/// received_counts of ExchangeIds.  outputs: rows i32 [RowExchange::merged], their numbers on this rank in the order of
/// their first place, -1 behind them; numbers i32 [RowExchange::received], the place of each received id in `rows`, -1
/// for keys without a row; used i32 [1], how many there are; places i32 [RowExchange::rows], scratch.
class MergeRows final : public RowExchangeOp {
 public:
  enum Input { received, received_counts };
  enum Output { rows, numbers, used, places };
  using RowExchangeOp::RowExchangeOp;

  std::string_view type() const override { return "merge_rows"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
};

/// The ids that have a row.  inputs: inverse of UniqueIds; known f32 [n, 1], ones and zeros of ExchangeRows without a
/// table.  outputs: ids i32 [...], `inverse`, but -1 for keys without a row.
class KnownIds final : public Op {
 public:
  enum Input { inverse, known };
  std::string_view type() const override { return "known_ids"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

/// Gradients of the rows that a batch has read.  inputs: inverse, counts of UniqueIds; dy f32 [..., H] of m rows, as of
/// SparseGradient.  outputs: f32 [n, H], for each unique id the sum, in order, of factor times dy of its occurrences.
class UniqueGradient final : public Op {
 public:
  enum Input { inverse, counts, dy };
  explicit UniqueGradient(float factor) : factor_(factor) {}
  float factor() const { return factor_; }

  std::string_view type() const override { return "unique_gradient"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  float factor_;
};

/// Starts to send every rank the gradients of its rows, of one table or several.  inputs: counts; received_counts;
/// numbers, used of MergeRows; then gradients, each of UniqueGradient.  outputs: for each values f32
/// [RowExchange::merged, H], for each of MergeRows::rows the sum over the ranks, in their order (chunk by chunk); then
/// for each arrived f32 [ranks * RowExchange::chunk, H], scratch.
class ExchangeGradients final : public RowExchangeOp {
 public:
  enum Input { counts, received_counts, numbers, used, gradients };
  using RowExchangeOp::RowExchangeOp;

  std::string_view type() const override { return "exchange_gradients"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  std::int64_t bytes_of_id(std::span<const TensorDesc> outputs) const override;
};

/// Ends the exchanges that the ops above have started.  inputs: all that these read and write, which lives until then.
/// No outputs.
class ExchangeWait final : public Op {
 public:
  std::string_view type() const override { return "exchange_wait"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc>) const override { return {}; }
  AmpClass amp_class() const override { return AmpClass::keep; }
  Cost cost(std::span<const TensorDesc>, std::span<const TensorDesc>) const override { return {}; }
};

/// Whether a step may leave parts of the op's results as they were.
bool leaves_results_unwritten(const Op& op);

/// GradNorm of the used rows of a gradient.  inputs: values f32 [n, H]; used i32 [1]; loss_scale f32[4] (optional).
/// outputs: f32 [2], as GradNorm's.
class RowsNorm final : public Op {
 public:
  enum Input { values, used, loss_scale };
  std::string_view type() const override { return "rows_norm"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

}  // namespace ptrain
