#include "core/ops/attention.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string describe(const AttentionAttributes& a) {
  std::string text = fmt::format("heads={} algorithm={}", a.heads, name_of(a.algorithm));
  if (a.dropout > 0) text += fmt::format(" dropout={} stream={}", a.dropout, a.stream);
  return text;
}

/// Checks qkv, lengths and rng, which the op and its gradient share.
void check_inputs(const AttentionAttributes& a, std::span<const TensorDesc> inputs) {
  const TensorDesc& qkv = inputs[0];
  require_floating(qkv, "qkv");
  require(qkv.shape.rank() == 3, "qkv: expected [B,S,3*heads*D], got {}", qkv.to_string());
  require(qkv.shape[2] % (3 * a.heads) == 0, "qkv: the last axis of {} is not divisible by 3 x {} heads",
          qkv.to_string(), a.heads);
  require_desc(inputs[1], {DType::i32, Shape{qkv.shape[0]}}, "lengths");
  if (a.dropout > 0) {
    require(inputs.size() > 2, "attention with dropout needs rng");
    require_rng(inputs[2]);
  }
}

/// One product of queries and keys (or weights and values) over all heads.
double product_flops(const TensorDesc& qkv) {
  return 2.0 * static_cast<double>(qkv.count() / 3) * static_cast<double>(qkv.shape[1]);
}

}  // namespace

std::string_view name_of(AttentionAlgorithm algorithm) {
  return algorithm == AttentionAlgorithm::flash ? "flash" : "math";
}

Attention::Attention(AttentionAttributes attributes) : attributes_(attributes) {
  invariant(attributes.heads > 0, "attention without heads");
  invariant(attributes.dropout >= 0 && attributes.dropout < 1, "attention dropout outside [0, 1)");
}

std::string Attention::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> Attention::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 3);
  check_inputs(attributes_, inputs);
  const Shape& s = inputs[0].shape;
  return {{inputs[0].dtype, Shape{s[0], s[1], s[2] / 3}}, {DType::f32, Shape{s[0], attributes_.heads, s[1]}}};
}

void Attention::gradient(GradientBuilder& builder) const {
  const ValueId dout = builder.output_gradient(0);
  if (dout == no_value || !builder.needs_gradient(0)) return;
  const ValueId rng = attributes_.dropout > 0 ? builder.input(2) : no_value;
  const std::vector<ValueId> inputs{builder.input(0),  builder.input(1),  rng,
                                    builder.output(0), builder.output(1), dout};
  builder.set_input_gradient(0, builder.emit(std::make_shared<AttentionGrad>(attributes_), inputs).front());
}

Cost Attention::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * product_flops(inputs[0]), traffic(inputs, outputs)};
}

std::string AttentionGrad::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> AttentionGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 6);
  check_inputs(attributes_, inputs);
  const Shape& s = inputs[0].shape;
  const TensorDesc out{inputs[0].dtype, Shape{s[0], s[1], s[2] / 3}};
  require_desc(inputs[3], out, "out");
  require_desc(inputs[4], {DType::f32, Shape{s[0], attributes_.heads, s[1]}}, "lse");
  require_desc(inputs[5], out, "dout");
  return {inputs[0]};
}

Cost AttentionGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  // dV, dP, dQ and dK; computing the scores again is not counted as work done.
  return {4 * product_flops(inputs[0]), traffic(inputs, outputs)};
}

}  // namespace ptrain
