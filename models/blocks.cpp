#include "models/blocks.h"

#include "core/ops/binary_cross_entropy.h"
#include "core/ops/dropout.h"
#include "core/ops/linear.h"
#include "core/ops/mean_squared_error.h"
#include "core/ops/normalization/layer_norm.h"
#include "core/ops/softmax_cross_entropy.h"

namespace ptrain {

ModelVariable variable_of(const std::string& name, const Shape& shape, Initializer start) {
  return {name, shape, start, {{.variable = name, .external = name, .external_shape = shape}}};
}

ValueId Blocks::parameter(ModelVariable variable) {
  const ValueId id = graph_.add_parameter(variable.name, variable.shape);
  variables_.push_back(std::move(variable));
  return id;
}

ValueId Blocks::state(ModelVariable variable) {
  const ValueId id = graph_.add_state(variable.name, {DType::f32, variable.shape});
  variables_.push_back(std::move(variable));
  return id;
}

ValueId Blocks::linear(const std::string& name, ValueId x, ModelVariable weight, ModelVariable bias) {
  const ValueId matrix = parameter(std::move(weight));
  return add(name, std::make_shared<Linear>(), {x, matrix, parameter(std::move(bias))});
}

ValueId Blocks::layer_norm(const std::string& name, ValueId x, float epsilon, ModelVariable scale,
                           ModelVariable offset) {
  const ValueId gamma = parameter(std::move(scale));
  const ValueId beta = parameter(std::move(offset));
  return add(name, std::make_shared<LayerNorm>(epsilon), {x, gamma, beta});
}

ValueId Blocks::classifier(const std::string& name, ValueId x, std::int64_t classes, const Initializer& weight,
                           const Initializer& bias) {
  ModelVariable matrix = variable_of(name + ".weight", Shape{classes, channels(x)}, weight);
  ModelVariable offsets = variable_of(name + ".bias", Shape{classes}, bias);
  matrix.files.front().head = offsets.files.front().head = true;
  return linear(name, x, std::move(matrix), std::move(offsets));
}

void Blocks::add_labels(const BatchShape& batch) {
  labels_ = graph_.add_input(tensor_names::labels, {DType::i32, Shape{batch.rows}});
  weighted_ = batch.weighted && training();
  if (!batch.mixed || !training()) return;
  other_labels_ = graph_.add_input(tensor_names::other_labels, {DType::i32, Shape{batch.rows}});
  own_share_ = graph_.add_input(tensor_names::own_share, {DType::f32, Shape{1}});
}

void Blocks::add_value_loss(ValueId predictions) {
  const ValueId values = graph_.add_input(tensor_names::values, {DType::f32, Shape{graph_.desc(predictions).shape[0]}});
  graph_.set_output(tensor_names::loss, add("loss", std::make_shared<MeanSquaredError>(), {predictions, values}));
  graph_.set_output(tensor_names::logits, predictions);
}

void Blocks::add_binary_loss(ValueId logits, float label_smoothing) {
  const auto op = std::make_shared<BinaryCrossEntropy>(training() ? label_smoothing : 0.0f);
  graph_.set_output(tensor_names::loss, add("loss", op, {logits, labels_}));
  graph_.set_output(tensor_names::logits, logits);
}

void Blocks::add_rng() {
  if (dropout_ > 0 || sample_dropout_ > 0) rng_ = graph_.add_input(tensor_names::rng, {DType::i64, Shape{3}});
}

ValueId Blocks::dropout(const std::string& name, ValueId x) {
  if (dropout_ <= 0) return x;
  return add(name, std::make_shared<Dropout>(DropoutAttributes{dropout_, next_stream()}), {x, rng_});
}

ValueId Blocks::sample_dropout(const std::string& name, ValueId x, float share) {
  const float p = share * sample_dropout_;
  if (p <= 0) return x;
  return add(name, std::make_shared<Dropout>(DropoutAttributes{p, next_stream(), DropoutUnit::sample}), {x, rng_});
}

void Blocks::add_loss(ValueId logits, float label_smoothing) {
  const float smoothing = training() ? label_smoothing : 0.0f;
  std::vector<ValueId> inputs{logits, labels_};
  if (other_labels_ != no_value || weighted_) inputs.insert(inputs.end(), {other_labels_, own_share_});
  if (weighted_) {
    inputs.push_back(graph_.add_input(tensor_names::class_weights, {DType::f32, Shape{channels(logits)}}));
  }
  const ValueId value = add("loss", std::make_shared<SoftmaxCrossEntropy>(smoothing), std::move(inputs));
  graph_.set_output(tensor_names::loss, value);
  graph_.set_output(tensor_names::logits, logits);
}

}  // namespace ptrain
