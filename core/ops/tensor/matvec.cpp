#include "core/ops/tensor/matvec.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_operands(const TensorDesc& a, const TensorDesc& v) {
  require_floating(a, "a");
  require(a.shape.rank() == 3, "a: expected [B,M,K], got {}", a.to_string());
  require_desc(v, {a.dtype, Shape{a.shape[0], a.shape[2]}}, "v");
}

TensorDesc product_desc(const TensorDesc& a) { return {a.dtype, Shape{a.shape[0], a.shape[1]}}; }

}  // namespace

std::vector<TensorDesc> Matvec::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_operands(inputs[a], inputs[v]);
  return {product_desc(inputs[a])};
}

void Matvec::gradient(GradientBuilder& builder) const {
  const ValueId dy = builder.output_gradient(0);
  if (dy == no_value || !(builder.needs_gradient(a) || builder.needs_gradient(v))) return;
  const std::vector<ValueId> gradients =
      builder.emit(std::make_shared<MatvecGrad>(attributes_), {builder.input(a), builder.input(v), dy});
  if (builder.needs_gradient(a)) builder.set_input_gradient(a, gradients[MatvecGrad::da]);
  if (builder.needs_gradient(v)) builder.set_input_gradient(v, gradients[MatvecGrad::dv]);
}

Cost Matvec::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(inputs[a].count()), traffic(inputs, outputs)};
}

std::vector<TensorDesc> MatvecGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_operands(inputs[a], inputs[v]);
  require_desc(inputs[dy], product_desc(inputs[a]), "dy");
  return {inputs[a], inputs[v]};
}

Cost MatvecGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {3.0 * static_cast<double>(inputs[a].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
