// The gradient of a table that was looked up in: of the rows that were read, each once. It costs what the ids cost,
// however many rows the table has.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// What a look-up hands back for its table: a gradient of the table's shape, or one of the rows that were read.
enum class TableGradient { dense, sparse };

/// inputs:  ids i32 [...], n of them; dy f32 [..., H] of m rows, where m divides n: row r is that of n / m ids in turn.
/// outputs: rows i32 [n]: the id where it is the first of its kind, -1 where it repeats an earlier one;
///          values f32 [n, H]: at the first of an id the sum, in order, of the rows of dy of all ids like it, else 0.
class SparseGradient final : public Op {
 public:
  enum Input { ids, dy };
  enum Output { rows, values };
  std::string_view type() const override { return "sparse_gradient"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// For a look-up of ids, input `ids`, in a table, input `table`: hands the table its gradient from that of output 0,
/// `dense` making one of the table's shape.
void set_table_gradient(GradientBuilder& builder, TableGradient gradient, int ids, int table);

/// Bytes that a look-up moves: of the rows that are read, not of the whole table.
double look_up_traffic(const TensorDesc& ids, const TensorDesc& table, const TensorDesc& y);

}  // namespace ptrain
