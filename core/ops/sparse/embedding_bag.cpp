#include "core/ops/sparse/embedding_bag.h"

#include "core/ops/require.h"

namespace ptrain {

std::vector<TensorDesc> EmbeddingBag::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require(inputs[ids].dtype == DType::i32 && inputs[ids].shape.rank() >= 2, "ids: expected i32 [...,K], got {}",
          inputs[ids].to_string());
  require(inputs[table].dtype == DType::f32 && inputs[table].shape.rank() == 2, "table: expected f32 [rows,H], got {}",
          inputs[table].to_string());
  return {{DType::f32, with_last(inputs[ids].shape, inputs[table].shape[1])}};
}

void EmbeddingBag::gradient(GradientBuilder& builder) const { set_table_gradient(builder, gradient_, ids, table); }

Cost EmbeddingBag::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  const auto added = static_cast<double>(inputs[ids].count() * inputs[table].shape[1]);
  return {added, look_up_traffic(inputs[ids], inputs[table], outputs[0])};
}

}  // namespace ptrain
