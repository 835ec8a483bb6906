#include "core/ops/softmax_cross_entropy.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {

namespace {

/// Optional inputs: `first` and the next are the mixup labels and lambda, both or neither; class weights may follow.
void require_labels(std::span<const TensorDesc> inputs, int first, const Shape& logits) {
  const Shape rows{leading_shape(logits).count()};
  require_desc(inputs[SoftmaxCrossEntropy::labels], {DType::i32, rows}, "labels");
  const bool mixed = has_input(inputs, first), weighted = has_input(inputs, first + 2);
  require(mixed == has_input(inputs, first + 1), "expected mixup_labels and mixup_lambda, or neither");
  require(!mixed || !weighted, "class weights cannot be combined with mixed samples");
  const auto at = static_cast<std::size_t>(first);
  if (mixed) {
    require_desc(inputs[at], {DType::i32, rows}, "mixup_labels");
    require_desc(inputs[at + 1], {DType::f32, Shape{1}}, "mixup_lambda");
  }
  if (weighted) require_desc(inputs[at + 2], {DType::f32, Shape{logits[-1]}}, "class_weights");
}

/// Appends the optional inputs of the loss that its gradient reads too.
void append_optional(std::vector<ValueId>& inputs, const GradientBuilder& builder) {
  using Loss = SoftmaxCrossEntropy;
  const bool mixed = builder.input(Loss::mixup_labels) != no_value;
  const bool weighted = builder.input(Loss::class_weights) != no_value;
  if (mixed || weighted) {
    inputs.insert(inputs.end(), {builder.input(Loss::mixup_labels), builder.input(Loss::mixup_lambda)});
  }
  if (weighted) inputs.push_back(builder.input(Loss::class_weights));
}

}  // namespace

SoftmaxCrossEntropy::SoftmaxCrossEntropy(float label_smoothing) : label_smoothing_(label_smoothing) {
  invariant(label_smoothing >= 0 && label_smoothing < 1, "label smoothing outside [0, 1)");
}

std::string SoftmaxCrossEntropy::attributes() const {
  return label_smoothing_ > 0 ? fmt::format("label_smoothing={}", label_smoothing_) : "";
}

std::vector<TensorDesc> SoftmaxCrossEntropy::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 5);
  require_floating(inputs[logits], "logits");
  require(inputs[logits].shape.rank() >= 2, "logits: expected [B,C], got {}", inputs[logits].to_string());
  require_labels(inputs, mixup_labels, inputs[logits].shape);
  return {{DType::f32, Shape{}}, {DType::f32, inputs[logits].shape}};
}

void SoftmaxCrossEntropy::gradient(GradientBuilder& builder) const {
  const ValueId dloss = builder.output_gradient(0);
  if (dloss == no_value || !builder.needs_gradient(logits)) return;
  const auto op = std::make_shared<SoftmaxCrossEntropyGrad>(
      SoftmaxCrossEntropyGradAttributes{label_smoothing_, builder.desc(builder.input(logits)).dtype});
  std::vector<ValueId> inputs{builder.output(1), builder.input(labels), dloss};
  append_optional(inputs, builder);
  builder.set_input_gradient(logits, builder.emit(op, std::move(inputs)).front());
}

Cost SoftmaxCrossEntropy::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {5.0 * static_cast<double>(inputs[logits].count()), traffic(inputs, outputs)};
}

std::string SoftmaxCrossEntropyGrad::attributes() const {
  return attributes_.label_smoothing > 0 ? fmt::format("label_smoothing={}", attributes_.label_smoothing) : "";
}

std::vector<TensorDesc> SoftmaxCrossEntropyGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 6);
  const Shape& shape = inputs[probabilities].shape;
  require(shape.rank() >= 2 && inputs[probabilities].dtype == DType::f32, "probabilities: expected f32 [B,C], got {}",
          inputs[probabilities].to_string());
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  require_labels(inputs, mixup_labels, shape);
  return {{attributes_.dtype, shape}};
}

Cost SoftmaxCrossEntropyGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(inputs[probabilities].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
