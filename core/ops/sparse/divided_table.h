// What a rank computes of a table whose rows the ranks divide (core/passes/exchange_tables.h).
#pragma once

#include "core/base/row_shard.h"
#include "core/graph/op.h"

namespace ptrain {

/// inputs: rows i32 [...] of a whole table; -1: none.  outputs: i32 [...], this rank's numbers of them (RowShard), -1
/// for none and for rows of other ranks.
class LocalRows final : public OpWith<RowShard> {
 public:
  using OpWith::OpWith;

  std::string_view type() const override { return "local_rows"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
};

/// inputs: rows f32 [..., K, H].  outputs: y f32 [..., H], the sum of the K rows, in order, as EmbeddingBag adds them.
class SumBags final : public Op {
 public:
  std::string_view type() const override { return "sum_bags"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override {
    return {static_cast<double>(inputs[0].count()), traffic(inputs, outputs)};
  }
};

}  // namespace ptrain
