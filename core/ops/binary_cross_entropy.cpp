#include "core/ops/binary_cross_entropy.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

void require_logits(const TensorDesc& logits, const TensorDesc& labels) {
  require_floating(logits, "logits");
  require(logits.shape.rank() == 2 && logits.shape[1] == 1, "logits: expected [B,1], got {}", logits.to_string());
  require_desc(labels, {DType::i32, Shape{logits.shape[0]}}, "labels");
}

std::string smoothing_text(float smoothing) {
  return smoothing > 0 ? fmt::format("label_smoothing={}", smoothing) : std::string();
}

}  // namespace

std::string BinaryCrossEntropy::attributes() const { return smoothing_text(label_smoothing_); }

std::vector<TensorDesc> BinaryCrossEntropy::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  require_logits(inputs[logits], inputs[labels]);
  return {{DType::f32, Shape{}}};
}

void BinaryCrossEntropy::gradient(GradientBuilder& builder) const {
  const ValueId dloss = builder.output_gradient(0);
  if (dloss == no_value || !builder.needs_gradient(logits)) return;
  const auto op = std::make_shared<BinaryCrossEntropyGrad>(label_smoothing_);
  builder.set_input_gradient(logits, builder.emit(op, {builder.input(logits), builder.input(labels), dloss}).front());
}

Cost BinaryCrossEntropy::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {6.0 * static_cast<double>(inputs[logits].count()), traffic(inputs, outputs)};
}

std::string BinaryCrossEntropyGrad::attributes() const { return smoothing_text(label_smoothing_); }

std::vector<TensorDesc> BinaryCrossEntropyGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 3);
  require_logits(inputs[logits], inputs[labels]);
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  return {inputs[logits]};
}

Cost BinaryCrossEntropyGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {4.0 * static_cast<double>(inputs[logits].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
