#include "core/ops/text/cross_attention.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string describe(const CrossAttentionAttributes& a) {
  std::string text = fmt::format("heads={} max_queries={} max_keys={}", a.heads, a.max_queries, a.max_keys);
  if (a.dropout > 0) text += fmt::format(" dropout={} stream={}", a.dropout, a.stream);
  return text;
}

void check_cross_inputs(const CrossAttentionAttributes& a, std::span<const TensorDesc> inputs) {
  const TensorDesc &q = inputs[CrossAttention::q], &kv = inputs[CrossAttention::kv];
  require_floating(q, "q");
  require(q.shape.rank() == 2 && q.shape[1] % a.heads == 0, "q: expected [T,{}*D], got {}", a.heads, q.to_string());
  require(kv.dtype == q.dtype && kv.shape.rank() == 2 && kv.shape[1] == 2 * q.shape[1],
          "kv: expected {} [K,{}], got {}", to_string(q.dtype), 2 * q.shape[1], kv.to_string());
  require_offsets(inputs[CrossAttention::query_offsets]);
  require_desc(inputs[CrossAttention::key_offsets], inputs[CrossAttention::query_offsets], "key_offsets");
  if (a.dropout > 0) {
    require(inputs.size() > CrossAttention::rng, "cross attention with dropout needs rng");
    require_rng(inputs[CrossAttention::rng]);
  }
}

TensorDesc cross_lse_desc(const CrossAttentionDims& e) { return {DType::f32, Shape{e.batch, e.heads, e.most_queries}}; }

/// Operations of one product of queries and keys (or weights and values) over all heads.
double count_cross_flops(const CrossAttentionDims& e) {
  return 2.0 * static_cast<double>(e.queries * e.width()) * static_cast<double>(e.keys) / static_cast<double>(e.batch);
}

}  // namespace

CrossAttentionDims::CrossAttentionDims(const CrossAttentionAttributes& attributes, std::span<const TensorDesc> inputs)
    : batch(inputs[CrossAttention::query_offsets].shape[0] - 1),
      heads(attributes.heads),
      depth(inputs[CrossAttention::q].shape[1] / attributes.heads),
      queries(inputs[CrossAttention::q].shape[0]),
      keys(inputs[CrossAttention::kv].shape[0]),
      most_queries(attributes.max_queries),
      most_keys(attributes.max_keys) {}

CrossAttention::CrossAttention(CrossAttentionAttributes attributes) : OpWith(attributes) {
  invariant(attributes.heads > 0, "cross attention without heads");
  invariant(attributes.max_queries > 0 && attributes.max_keys > 0, "cross attention without lengths");
  invariant(attributes.dropout >= 0 && attributes.dropout < 1, "cross attention dropout outside [0, 1)");
}

std::string CrossAttention::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> CrossAttention::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 4, 5);
  check_cross_inputs(attributes_, inputs);
  return {inputs[q], cross_lse_desc({attributes_, inputs})};
}

void CrossAttention::gradient(GradientBuilder& builder) const {
  const ValueId dout = builder.output_gradient(0);
  if (dout == no_value || !(builder.needs_gradient(q) || builder.needs_gradient(kv))) return;
  const std::vector<ValueId> gradients = builder.emit(
      std::make_shared<CrossAttentionGrad>(attributes_),
      {builder.input(q), builder.input(kv), builder.input(query_offsets), builder.input(key_offsets),
       attributes_.dropout > 0 ? builder.input(rng) : no_value, builder.output(0), builder.output(1), dout});
  for (const int input : {q, kv}) {
    if (builder.needs_gradient(input)) builder.set_input_gradient(input, gradients[static_cast<std::size_t>(input)]);
  }
}

Cost CrossAttention::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * count_cross_flops({attributes_, inputs}), traffic(inputs, outputs)};
}

std::string CrossAttentionGrad::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> CrossAttentionGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 8, 8);
  check_cross_inputs(attributes_, inputs);
  require_desc(inputs[out], inputs[q], "out");
  require_desc(inputs[lse], cross_lse_desc({attributes_, inputs}), "lse");
  require_desc(inputs[dout], inputs[q], "dout");
  return {inputs[q], inputs[kv]};
}

Cost CrossAttentionGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  // dV, dP, dQ and dK; recomputing the scores is not counted.
  return {4 * count_cross_flops({attributes_, inputs}), traffic(inputs, outputs)};
}

}  // namespace ptrain
