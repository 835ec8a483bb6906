#include "core/ops/sparse/sparse_gradient.h"

#include "core/ops/require.h"
#include "core/ops/text/embedding.h"

namespace ptrain {

std::vector<TensorDesc> SparseGradient::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require(inputs[ids].dtype == DType::i32 && inputs[ids].shape.rank() >= 1, "ids: expected i32 [...], got {}",
          inputs[ids].to_string());
  require(inputs[dy].dtype == DType::f32 && inputs[dy].shape.rank() >= 2, "dy: expected f32 [...,H], got {}",
          inputs[dy].to_string());
  const std::int64_t count = inputs[ids].count(), read = leading_shape(inputs[dy].shape).count();
  require(read > 0 && count % read == 0, "dy {} does not fit ids {}", inputs[dy].to_string(), inputs[ids].to_string());
  return {{DType::i32, Shape{count}}, {DType::f32, Shape{count, inputs[dy].shape[-1]}}};
}

Cost SparseGradient::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {static_cast<double>(outputs[values].count()), traffic(inputs, outputs)};
}

void set_table_gradient(GradientBuilder& builder, TableGradient gradient, int ids, int table) {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !builder.needs_gradient(table)) return;
  const std::vector<ValueId> inputs{builder.input(ids), dy};
  switch (gradient) {
    case TableGradient::dense: {
      const auto op = std::make_shared<EmbeddingGrad>(builder.desc(builder.input(table)).shape[0]);
      builder.set_input_gradient(table, builder.emit(op, inputs).front());
      return;
    }
    case TableGradient::sparse: {
      const std::vector<ValueId> made = builder.emit(std::make_shared<SparseGradient>(), inputs);
      builder.set_sparse_gradient(table, made[SparseGradient::rows], made[SparseGradient::values]);
      return;
    }
  }
}

double look_up_traffic(const TensorDesc& ids, const TensorDesc& table, const TensorDesc& y) {
  const double read =
      static_cast<double>(ids.count() * table.shape[1]) * static_cast<double>(element_size(table.dtype));
  return static_cast<double>(ids.bytes()) + read + static_cast<double>(y.bytes());
}

}  // namespace ptrain
