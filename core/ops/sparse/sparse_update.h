// Updates the rows of a table that are in a sparse gradient: other rows and their moments stay unchanged.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/optimizer_math.h"

namespace ptrain {

struct SparseUpdateAttributes {
  OptimizerSettings settings;  // not LARS and LAMB, which scale by norms of whole tables
  bool decay = true;           // weight decay applies, to the rows of the gradient
};

/// State inputs are written in place, a row at a time (PyTorch's torch.optim.SparseAdam, Paddle's lazy_mode): rows that
/// the step did not read keep their moments. Runs before the step's OptimizerUpdate, which counts the update.
class SparseUpdate final : public OpWith<SparseUpdateAttributes> {
 public:
  enum Input : int {
    learning_rate,  // f32[1], fed each step
    rows,           // i32[n] of SparseGradient: each row once, -1 for none
    values,         // f32[n, H]
    updates,        // f32[1] number of updates applied so far, without this one
    grad_norm,      // f32[2] {norm, found_inf}, optional
    loss_scale,     // f32[4], optional: gradients carry this scale
    table,          // f32[V, H]
    moment1,        // f32[V, H] velocity, first moment or squares, optional; f32[V] where settings.row_wise says so
    moment2,        // f32[V, H], optional
    moment3,        // f32[V, H], optional
    count
  };
  using OpWith::OpWith;

  std::string_view type() const override { return "sparse_update"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input >= table; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;
};

/// Whether a table's only moment is one number per row: Adagrad with `row_wise`, which sums the mean of a row's squared
/// gradients (FBGEMM's EXACT_ROWWISE_ADAGRAD, with its L2 decay; torchrec's row-wise Adagrad).
bool keeps_row_sums(const OptimizerSettings& settings);

/// Whether an optimizer updates each element independently, so that rows can be skipped.
bool updates_rows(OptimizerKind kind);

}  // namespace ptrain
