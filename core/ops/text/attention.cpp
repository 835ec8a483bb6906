#include "core/ops/text/attention.h"

#include "core/base/errors.h"
#include "core/ops/require.h"

namespace ptrain {
namespace {

std::string describe(const AttentionAttributes& a) {
  std::string text = fmt::format("heads={}", a.heads);
  if (a.kv_heads > 0) text += fmt::format(" kv_heads={}", a.kv_heads);
  text += fmt::format(" algorithm={}", enum_name(a.algorithm));
  if (a.dropout > 0) text += fmt::format(" dropout={} stream={}", a.dropout, a.stream);
  if (a.max_length > 0) text += fmt::format(" max_length={}", a.max_length);
  if (a.causal) text += " causal";
  return text;
}

/// Heads of each token's query, key and value together.
std::int64_t count_heads(const AttentionAttributes& a) { return a.heads + 2 * (a.kv_heads > 0 ? a.kv_heads : a.heads); }

/// Checks the inputs that the op and its gradient share: qkv, lengths, rng and, from input `offsets` on, the offsets.
void check_inputs(const AttentionAttributes& a, std::span<const TensorDesc> inputs, std::size_t offsets) {
  const TensorDesc& qkv = inputs[Attention::qkv];
  require_floating(qkv, "qkv");
  const bool packed = a.max_length > 0;
  require(qkv.shape.rank() == (packed ? 2 : 3), "qkv: expected {}, got {}",
          packed ? "[T,(heads+2*kv_heads)*D] with max_length" : "[B,S,(heads+2*kv_heads)*D]", qkv.to_string());
  require(qkv.shape[-1] % count_heads(a) == 0,
          "qkv: the last axis of {} is not divisible by the {} heads of q, k and v", qkv.to_string(), count_heads(a));
  require(packed == (inputs.size() > offsets), "offsets: expected for packed sequences and for no others");
  if (packed) {
    require_offsets(inputs[offsets]);
    require_desc(inputs[Attention::lengths], {DType::i32, Shape{inputs[offsets].shape[0] - 1}}, "lengths");
  } else {
    require_desc(inputs[Attention::lengths], {DType::i32, Shape{qkv.shape[0]}}, "lengths");
  }
  if (a.dropout > 0) {
    require(inputs.size() > Attention::rng, "attention with dropout needs rng");
    require_rng(inputs[Attention::rng]);
  }
}

TensorDesc out_desc(const AttentionAttributes& a, const TensorDesc& qkv) {
  return {qkv.dtype, with_last(qkv.shape, qkv.shape[-1] / count_heads(a) * a.heads)};
}

TensorDesc lse_desc(const AttentionDims& e) { return {DType::f32, Shape{e.batch, e.heads, e.length}}; }

/// Operations of one product of queries and keys (or weights and values) over all heads.
double count_product_flops(const AttentionAttributes& a, std::span<const TensorDesc> inputs) {
  const AttentionDims e(a, inputs[Attention::qkv], inputs[Attention::lengths]);
  const auto tokens = static_cast<double>(e.tokens);
  const double keys = a.max_length > 0 ? tokens / static_cast<double>(e.batch) : static_cast<double>(e.length);
  return 2.0 * tokens * static_cast<double>(e.heads * e.depth) * (a.causal ? (keys + 1) / 2 : keys);
}

}  // namespace

AttentionDims::AttentionDims(const AttentionAttributes& attributes, const TensorDesc& qkv, const TensorDesc& lengths)
    : batch(lengths.shape[0]),
      length(attributes.max_length > 0 ? attributes.max_length : qkv.shape[1]),
      heads(attributes.heads),
      kv_heads(attributes.kv_heads > 0 ? attributes.kv_heads : attributes.heads),
      depth(qkv.shape[-1] / count_heads(attributes)),
      tokens(qkv.count() / qkv.shape[-1]) {}

Attention::Attention(AttentionAttributes attributes) : OpWith(attributes) {
  invariant(attributes.heads > 0, "attention without heads");
  invariant(attributes.kv_heads == 0 || (attributes.kv_heads > 0 && attributes.heads % attributes.kv_heads == 0),
            "attention's key heads do not divide its query heads");
  invariant(attributes.dropout >= 0 && attributes.dropout < 1, "attention dropout outside [0, 1)");
}

std::string Attention::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> Attention::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 4);
  check_inputs(attributes_, inputs, offsets);
  return {out_desc(attributes_, inputs[qkv]), lse_desc({attributes_, inputs[qkv], inputs[lengths]})};
}

void Attention::gradient(GradientBuilder& builder) const {
  const ValueId dout = builder.output_gradient(0);
  if (dout == no_value || !builder.needs_gradient(qkv)) return;
  const ValueId mask_rng = attributes_.dropout > 0 ? builder.input(rng) : no_value;
  std::vector<ValueId> inputs{builder.input(qkv), builder.input(lengths), mask_rng,
                              builder.output(0),  builder.output(1),      dout};
  if (attributes_.max_length > 0) inputs.push_back(builder.input(offsets));
  builder.set_input_gradient(qkv, builder.emit(std::make_shared<AttentionGrad>(attributes_), inputs).front());
}

Cost Attention::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  return {2 * count_product_flops(attributes_, inputs), traffic(inputs, outputs)};
}

std::string AttentionGrad::attributes() const { return describe(attributes_); }

std::vector<TensorDesc> AttentionGrad::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 6, 7);
  check_inputs(attributes_, inputs, offsets);
  const TensorDesc expected_out = out_desc(attributes_, inputs[qkv]);
  require_desc(inputs[out], expected_out, "out");
  require_desc(inputs[lse], lse_desc({attributes_, inputs[qkv], inputs[lengths]}), "lse");
  require_desc(inputs[dout], expected_out, "dout");
  return {inputs[qkv]};
}

Cost AttentionGrad::cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const {
  // dV, dP, dQ and dK; recomputing the scores is not counted.
  return {4 * count_product_flops(attributes_, inputs), traffic(inputs, outputs)};
}

}  // namespace ptrain
