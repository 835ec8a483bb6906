#include "core/ops/softmax_cross_entropy.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {

namespace {

/// `first` and the input behind it are the other labels and the share of the own ones, or neither is there.
void require_mix(std::span<const TensorDesc> inputs, std::size_t first, std::int64_t rows) {
  require(inputs.size() == first || inputs.size() == first + 2, "expected {} or {} inputs, got {}", first, first + 2,
          inputs.size());
  if (inputs.size() == first) return;
  require_desc(inputs[first], {DType::i32, Shape{rows}}, "other_labels");
  require_desc(inputs[first + 1], {DType::f32, Shape{1}}, "own_share");
}

}  // namespace

SoftmaxCrossEntropy::SoftmaxCrossEntropy(float label_smoothing) : label_smoothing_(label_smoothing) {
  invariant(label_smoothing >= 0 && label_smoothing < 1, "label smoothing outside [0, 1)");
}

std::string SoftmaxCrossEntropy::attributes() const {
  return label_smoothing_ > 0 ? fmt::format("label_smoothing={}", label_smoothing_) : "";
}

std::vector<TensorDesc> SoftmaxCrossEntropy::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 4);
  require_floating(inputs[logits], "logits");
  require(inputs[logits].shape.rank() == 2, "logits: expected [B,C], got {}", inputs[logits].to_string());
  require_desc(inputs[labels], {DType::i32, Shape{inputs[logits].shape[0]}}, "labels");
  require_mix(inputs, other_labels, inputs[logits].shape[0]);
  return {{DType::f32, Shape{}}, {DType::f32, inputs[logits].shape}};
}

void SoftmaxCrossEntropy::gradient(GradientBuilder& builder) const {
  const ValueId dloss = builder.output_gradient(0);
  if (dloss == no_value || !builder.needs_gradient(logits)) return;
  const auto op = std::make_shared<SoftmaxCrossEntropyGrad>(
      SoftmaxCrossEntropyGradAttributes{label_smoothing_, builder.desc(builder.input(logits)).dtype});
  std::vector<ValueId> inputs{builder.output(1), builder.input(labels), dloss};
  if (builder.input(other_labels) != no_value) {
    inputs.insert(inputs.end(), {builder.input(other_labels), builder.input(own_share)});
  }
  builder.set_input_gradient(logits, builder.emit(op, std::move(inputs)).front());
}

Cost SoftmaxCrossEntropy::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {5.0 * static_cast<double>(inputs[logits].count()), traffic(inputs, outputs)};
}

std::string SoftmaxCrossEntropyGrad::attributes() const {
  return attributes_.label_smoothing > 0 ? fmt::format("label_smoothing={}", attributes_.label_smoothing) : "";
}

std::vector<TensorDesc> SoftmaxCrossEntropyGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 3, 5);
  const Shape& shape = inputs[probabilities].shape;
  require(shape.rank() == 2 && inputs[probabilities].dtype == DType::f32, "probabilities: expected f32 [B,C], got {}",
          inputs[probabilities].to_string());
  require_desc(inputs[labels], {DType::i32, Shape{shape[0]}}, "labels");
  require_desc(inputs[dloss], {DType::f32, Shape{}}, "dloss");
  require_mix(inputs, other_labels, shape[0]);
  return {{attributes_.dtype, shape}};
}

Cost SoftmaxCrossEntropyGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2.0 * static_cast<double>(inputs[probabilities].count()), traffic(inputs, outputs)};
}

}  // namespace ptrain
