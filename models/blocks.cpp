#include "models/blocks.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/dropout.h"
#include "core/ops/linear.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/normalization/layer_norm.h"
#include "core/ops/tensor/binary.h"
#include "core/ops/tensor/reshape.h"

#include <limits>

namespace ptrain {

ModelVariable make_variable(const std::string& name, const Shape& shape, Initializer start) {
  return {name, shape, start, {{.variable = name, .external = name, .external_shape = shape}}};
}

ModelVariable of_head(ModelVariable variable) {
  for (WeightMapping& file : variable.files) file.part = WeightMapping::Part::head;
  return variable;
}

ValueId Blocks::find_shared(const ModelVariable& variable) const {
  if (sharing_.empty()) return no_value;
  const ValueId shared = graph_.find_value(variable.name);
  invariant(shared != no_value, "a shared variable was not declared before");
  return shared;
}

ValueId Blocks::parameter(ModelVariable variable) {
  if (const ValueId shared = find_shared(variable); shared != no_value) return shared;
  const ValueId id = graph_.add_parameter(variable.name, variable.shape);
  variables_.push_back(std::move(variable));
  return id;
}

ValueId Blocks::state(ModelVariable variable) {
  if (const ValueId shared = find_shared(variable); shared != no_value) return shared;
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

ValueId Blocks::reshape(const std::string& name, ValueId x, Shape to) {
  return add(name, std::make_shared<Reshape>(std::move(to)), {x});
}

ValueId Blocks::activate(const std::string& name, Activation function, ValueId x) {
  return add(name, std::make_shared<ActivationOp>(function), {x});
}

ValueId Blocks::combine(const std::string& name, BinaryFunction function, ValueId a, ValueId b) {
  return add(name, std::make_shared<Binary>(function), {a, b});
}

ValueId Blocks::apply(const std::string& name, UnaryFunction function, ValueId x, PointwiseConstants constants) {
  return add(name, std::make_shared<Unary>(UnaryAttributes{function, constants}), {x});
}

ValueId Blocks::reduce(const std::string& name, ReduceKind kind, int axis, ValueId x) {
  return add(name, std::make_shared<Reduce>(ReduceAttributes{kind, {axis}, KeepDims::yes}), {x});
}

ValueId Blocks::normalize(const std::string& name, ValueId x) {
  constexpr float least = 1e-12f;
  const ValueId squares = apply(name + ".squares", UnaryFunction::square, x);
  const ValueId sum =
      apply(name + ".bounded", UnaryFunction::clamp, reduce(name + ".sum", ReduceKind::sum, -1, squares),
            {least, std::numeric_limits<float>::max()});
  return combine(name, BinaryFunction::mul, x, apply(name + ".scale", UnaryFunction::rsqrt, sum));
}

ValueId Blocks::softmax(const std::string& name, ValueId x) {
  const ValueId largest = reduce(name + ".max", ReduceKind::max, -1, x);
  const ValueId shifted = combine(name + ".shifted", BinaryFunction::sub, x, largest);
  const ValueId powers = apply(name + ".powers", UnaryFunction::exp, shifted);
  return combine(name, BinaryFunction::div, powers, reduce(name + ".sum", ReduceKind::sum, -1, powers));
}

Blocks::NormVariables Blocks::norm_variables(const std::string& name, std::int64_t channels, float scale, Norms norms) {
  const Shape width{channels};
  const Initializer one = constant_start(1), zero = constant_start(0);
  ModelVariable scales = make_variable(name + ".weight", width, constant_start(scale));
  ModelVariable offsets = make_variable(name + ".bias", width, zero);
  ModelVariable running_mean = make_variable(name + ".running_mean", width, zero);
  const bool frozen = norms == Norms::frozen;
  if (!frozen) running_mean.files.front().step_counter = name + ".num_batches_tracked";
  NormVariables variables{};
  variables.scale = frozen ? state(std::move(scales)) : parameter(std::move(scales));
  variables.offset = frozen ? state(std::move(offsets)) : parameter(std::move(offsets));
  variables.mean = state(std::move(running_mean));
  variables.variance = state(make_variable(name + ".running_var", width, one));
  return variables;
}

ValueId Blocks::batch_norm(const std::string& name, ValueId x) {
  const NormVariables v = norm_variables(name, channels(x), 1, Norms::batch);
  const auto op = std::make_shared<BatchNorm>(BatchNormAttributes{.training = training()});
  return add(name, op, {x, v.scale, v.offset, v.mean, v.variance});
}

ValueId Blocks::classifier(const std::string& name, ValueId x, std::int64_t classes, const Initializer& weight,
                           const Initializer& bias) {
  ModelVariable matrix = make_variable(name + ".weight", Shape{classes, channels(x)}, weight);
  ModelVariable offsets = make_variable(name + ".bias", Shape{classes}, bias);
  matrix.files.front().part = offsets.files.front().part = WeightMapping::Part::classifier;
  return linear(name, x, std::move(matrix), std::move(offsets));
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

BuiltModel Blocks::finish(ValueId logits) { return finish(tensor_names::logits, logits); }

BuiltModel Blocks::finish(const char* output, ValueId value) {
  graph_.set_output(output, value);
  return {std::move(graph_), std::move(variables_)};
}

}  // namespace ptrain
