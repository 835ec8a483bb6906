// The sparse gradient of an embedding table: one row for each row that was read. Its cost depends on the number of ids,
// not on the rows of the table.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// The gradient of a lookup's table: dense, of the table's shape, or sparse, of the rows that were read.
enum class TableGradient { dense, sparse };

/// inputs:  ids i32 [...], n of them; dy f32 [..., H] of m rows, where m divides n: row r belongs to the r-th group of
/// n / m ids. outputs: rows i32 [n]: the id at its first occurrence, -1 where it repeats an earlier one or is -1
/// itself; values f32 [n, H]: at an id's first occurrence the sum, in order, of the rows of dy of all its occurrences,
/// else 0.
class SparseGradient final : public Op {
 public:
  enum Input { ids, dy };
  enum Output { rows, values };
  std::string_view type() const override { return "sparse_gradient"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::extra_black; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// For a lookup of ids, input `ids`, in a table, input `table`: sets the table's gradient from that of output 0;
/// `dense` makes a dense one.
void set_table_gradient(GradientBuilder& builder, TableGradient gradient, int ids, int table);

/// Bytes that a lookup moves: the rows that are read, not the whole table.
double look_up_traffic(const TensorDesc& ids, const TensorDesc& table, const TensorDesc& y);

}  // namespace ptrain
