#include "core/ops/detection/sigmoid_focal_loss.h"

#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string format_alpha(const FocalLossAttributes& attributes) { return fmt::format("alpha={:g}", attributes.alpha); }

void require_rows(std::span<const TensorDesc> inputs) {
  const TensorDesc& logits = inputs[SigmoidFocalLoss::logits];
  require_floating(logits, "logits");
  require(logits.shape.rank() >= 2, "logits: expected [R..,K], got {}", logits.to_string());
  const Shape rows = leading_shape(logits.shape);
  require_desc(inputs[SigmoidFocalLoss::labels], {DType::i32, rows}, "labels");
  for (const auto& [input, name] :
       {std::pair{SigmoidFocalLoss::weights, "weights"}, {SigmoidFocalLoss::scores, "scores"}}) {
    if (has_input(inputs, input)) require_desc(inputs[input], {DType::f32, rows}, name);
  }
}

constexpr double logistic_flops = 12;

}  // namespace

std::string SigmoidFocalLoss::attributes() const { return format_alpha(attrs()); }

std::vector<TensorDesc> SigmoidFocalLoss::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 4);
  require_rows(inputs);
  return {{DType::f32, Shape{}}};
}

void SigmoidFocalLoss::gradient(GradientBuilder& builder) const {
  const ValueId dloss = builder.output_gradient(0);
  if (dloss == no_value || !builder.needs_gradient(logits)) return;
  const auto op = std::make_shared<SigmoidFocalLossGrad>(attrs());
  builder.set_input_gradient(logits, builder
                                         .emit(op, {builder.input(logits), builder.input(labels),
                                                    builder.input(weights), builder.input(scores), dloss})
                                         .front());
}

Cost SigmoidFocalLoss::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {logistic_flops * static_cast<double>(inputs[logits].count()), traffic(inputs, outputs)};
}

std::string SigmoidFocalLossGrad::attributes() const { return format_alpha(attrs()); }

std::vector<TensorDesc> SigmoidFocalLossGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 5, 5);
  require_rows(inputs);
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  return {inputs[logits]};
}

Cost SigmoidFocalLossGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {logistic_flops * static_cast<double>(inputs[logits].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
