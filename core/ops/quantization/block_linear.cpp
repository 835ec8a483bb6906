#include "core/ops/quantization/block_linear.h"

#include "core/base/errors.h"
#include "core/ops/require.h"
#include "core/ops/sparse/sparse_gradient.h"

namespace ptrain {
namespace {

/// Elements of a row of the weights.
std::int64_t count_columns(const TensorDesc& blocks, BlockFormat format, const char* what) {
  require(blocks.dtype == DType::u8 && blocks.shape.rank() == 2 && blocks.shape[1] % block_bytes(format) == 0,
          "{}: expected u8 [N, blocks of {} bytes], got {}", what, block_bytes(format), blocks.to_string());
  return blocks.shape[1] / block_bytes(format) * block_elements(format);
}

/// Multiply-adds of `rows` [..., N or K] with weights of `others` columns or rows, as two operations each.
double count_products(const TensorDesc& rows, std::int64_t others) {
  return 2.0 * static_cast<double>(rows.count()) * static_cast<double>(others);
}

}  // namespace

TensorDesc describe_blocks(BlockFormat format, const Shape& weights) {
  return {DType::u8, Shape{weights[0], bytes_in_blocks(format, weights[1])}};
}

std::vector<TensorDesc> BlockLinear::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 3);
  const std::int64_t columns = count_columns(inputs[w], attributes_.format, "w");
  require(inputs[x].dtype == DType::f32 && inputs[x].shape.rank() >= 1 && inputs[x].shape[-1] == columns,
          "x: expected f32 [..., {}], got {}", columns, inputs[x].to_string());
  const Shape channels{inputs[w].shape[0]};
  if (has_input(inputs, bias)) require_desc(inputs[bias], {DType::f32, channels}, "bias");
  return {{DType::f32, with_last(inputs[x].shape, channels[0])}};
}

void BlockLinear::gradient(GradientBuilder& builder) const {
  invariant(!builder.needs_gradient(bias), "the bias of a layer with weights in blocks is frozen");
  const ValueId dy = builder.output_gradient(0);
  const auto op = std::make_shared<BlockLinearGradInput>(attributes_);
  builder.set_input_gradient(x, builder.emit(op, {dy, builder.input(w)}).front());
}

Cost BlockLinear::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_products(inputs[x], inputs[w].shape[0]), traffic(inputs, outputs)};
}

std::vector<TensorDesc> BlockLinearGradInput::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  const std::int64_t columns = count_columns(inputs[w], attributes_.format, "w"), rows = inputs[w].shape[0];
  require(inputs[dy].dtype == DType::f32 && inputs[dy].shape.rank() >= 1 && inputs[dy].shape[-1] == rows,
          "dy: expected f32 [..., {}], got {}", rows, inputs[dy].to_string());
  return {{DType::f32, with_last(inputs[dy].shape, columns)}};
}

Cost BlockLinearGradInput::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {count_products(outputs[0], inputs[w].shape[0]), traffic(inputs, outputs)};
}

std::vector<TensorDesc> BlockEmbedding::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require(inputs[ids].dtype == DType::i32, "ids: expected i32, got {}", inputs[ids].to_string());
  std::vector<std::int64_t> shape = inputs[ids].shape.dims();
  shape.push_back(count_columns(inputs[table], attributes_.format, "table"));
  return {{DType::f32, Shape(std::move(shape))}};
}

Cost BlockEmbedding::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {0, look_up_traffic(inputs[ids], inputs[table], outputs[0])};
}

}  // namespace ptrain
