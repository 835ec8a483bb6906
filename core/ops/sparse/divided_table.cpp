#include "core/ops/sparse/divided_table.h"

#include "core/ops/require.h"

namespace ptrain {

std::string LocalRows::attributes() const {
  return fmt::format("rank={} world_size={}", attributes_.rank, attributes_.world_size);
}

std::vector<TensorDesc> LocalRows::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require(inputs[0].dtype == DType::i32, "rows: expected i32, got {}", inputs[0].to_string());
  return {inputs[0]};
}

std::vector<TensorDesc> SumBags::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require(inputs[0].dtype == DType::f32 && inputs[0].shape.rank() >= 2, "rows: expected f32 [...,K,H], got {}",
          inputs[0].to_string());
  return {{DType::f32, with_last(leading_shape(inputs[0].shape), inputs[0].shape[-1])}};
}

}  // namespace ptrain
