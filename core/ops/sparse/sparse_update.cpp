#include "core/ops/sparse/sparse_update.h"

#include "core/ops/require.h"

namespace ptrain {

bool keeps_row_sums(const OptimizerSettings& settings) {
  return settings.kind == OptimizerKind::adagrad && settings.row_wise;
}

bool updates_rows(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::momentum:
    case OptimizerKind::sgd:
    case OptimizerKind::adamw:
    case OptimizerKind::adam:
    case OptimizerKind::adagrad:
    case OptimizerKind::rmsprop:
      return true;
    case OptimizerKind::lars:
    case OptimizerKind::lamb:
    case OptimizerKind::muon:
      return false;
  }
  throw std::logic_error("internal error: unknown optimizer");
}

std::string SparseUpdate::attributes() const {
  return fmt::format("{} weight_decay={} clip_norm={}", enum_name(attributes_.settings.kind),
                     attributes_.decay ? attributes_.settings.weight_decay : 0.0f, attributes_.settings.clip_norm);
}

std::vector<TensorDesc> SparseUpdate::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, count, count);
  require(updates_rows(attributes_.settings.kind), "{} cannot update single rows",
          enum_name(attributes_.settings.kind));
  require(inputs[table].dtype == DType::f32 && inputs[table].shape.rank() == 2, "table: expected f32 [rows,H], got {}",
          inputs[table].to_string());
  require(inputs[rows].dtype == DType::i32 && inputs[rows].shape.rank() == 1, "rows: expected i32 [n], got {}",
          inputs[rows].to_string());
  require_desc(inputs[values], {DType::f32, Shape{inputs[rows].shape[0], inputs[table].shape[1]}}, "values");
  const bool row_sums = keeps_row_sums(attributes_.settings);
  const TensorDesc kept{DType::f32, row_sums ? Shape{inputs[table].shape[0]} : inputs[table].shape};
  for (const Input moment : {moment1, moment2, moment3}) {
    if (!is_absent(inputs[moment])) require_desc(inputs[moment], kept, "moment");
  }
  return {};
}

Cost SparseUpdate::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc>) const {
  const auto elements = static_cast<double>(inputs[values].count());
  double moved = 1;  // passes over each row: the gradient, and what is read and written
  for (const Input state : {table, moment1, moment2, moment3}) {
    if (is_absent(inputs[state])) continue;
    const bool whole_row = inputs[state].shape.rank() == 2;
    moved += whole_row ? 2.0 : 2.0 / static_cast<double>(inputs[table].shape[1]);
  }
  const bool adam = !is_absent(inputs[moment2]);
  return {elements * (adam ? 14 : 6), elements * moved * sizeof(float)};
}

}  // namespace ptrain
