// One product for query, key and value in each layer, and one for gate and up.
#include "models/text/llama.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/concat.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/normalization/rms_norm.h"
#include "core/ops/text/embedding.h"
#include "core/ops/text/swiglu.h"

namespace ptrain {
namespace {

class LlamaBuilder final : public TextBlocks {
 public:
  LlamaBuilder(const LlamaSpec& spec, Mode mode)
      : TextBlocks(mode, is_deployed(mode) ? Padding::none : spec.padding, /*dropout=*/0, "model."), spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    const ValueId ids = inputs(batch, spec_.max_length, TokenTypes::none).ids;
    const ValueId tokens = parameter(matrix("model.embed_tokens.weight", spec_.vocab_size, spec_.hidden));
    const RotaryAttributes rotary{spec_.head_dim, spec_.rope_theta, spec_.rope_scaling};
    angles_ = add("model.rotary_emb", std::make_shared<RotaryTable>(rotary), with_positions({ids}));
    ValueId x = add("model.embed_tokens", std::make_shared<Embedding>(), {ids, tokens});
    for (std::int64_t i = 0; i < spec_.layers; ++i) x = layer(fmt::format("model.layers.{}", i), x);
    if (is_deployed(mode())) x = last_tokens(x, batch.rows);
    x = rms_norm("model.norm", x, spec_.hidden);
    const ValueId head = spec_.tied ? tokens : parameter(matrix("lm_head.weight", spec_.vocab_size, spec_.hidden));
    return finish(add("lm_head", std::make_shared<Linear>(), {x, head}));
  }

 private:
  ValueId layer(const std::string& name, ValueId x) {
    const ValueId normal = rms_norm(name + ".input_layernorm", x, spec_.hidden);
    x = add(name + ".self_attn.add", std::make_shared<Add>(), {x, attention(name + ".self_attn", normal)});
    return add(name + ".mlp.add", std::make_shared<Add>(),
               {x, feed_forward(name + ".mlp", rms_norm(name + ".post_attention_layernorm", x, spec_.hidden))});
  }

  ValueId attention(const std::string& name, ValueId x) {
    const RotaryEmbeddingAttributes rotated{spec_.heads + spec_.kv_heads};
    const ValueId qkv =
        add(name + ".rotary", std::make_shared<RotaryEmbedding>(rotated), {query_key_value(name, x), angles_});
    AttentionAttributes attrs;
    attrs.heads = static_cast<int>(spec_.heads);
    attrs.kv_heads = static_cast<int>(spec_.kv_heads);
    attrs.algorithm = spec_.attention;
    attrs.causal = true;
    return dense(name + ".o_proj", attend(name, attrs, qkv), spec_.hidden, DenseBias::none);
  }

  /// One product, but three where queries and keys have norms of their own.
  ValueId query_key_value(const std::string& name, ValueId x) {
    const std::int64_t q = spec_.heads * spec_.head_dim, kv = spec_.kv_heads * spec_.head_dim;
    if (spec_.form != LlamaForm::qwen3) {
      const DenseBias bias = spec_.form == LlamaForm::qwen2 ? DenseBias::yes : DenseBias::none;
      return joined_dense(name, "qkv", {{"q_proj", q}, {"k_proj", kv}, {"v_proj", kv}}, x, bias);
    }
    const auto part = [&](const char* part_name, std::int64_t width) {
      return dense(name + part_name, x, width, DenseBias::none);
    };
    const ValueId queries = rms_norm(name + ".q_norm", part(".q_proj", q), spec_.head_dim);
    const ValueId keys = rms_norm(name + ".k_norm", part(".k_proj", kv), spec_.head_dim);
    return add(name + ".qkv", std::make_shared<Concat>(-1), {queries, keys, part(".v_proj", kv)});
  }

  ValueId feed_forward(const std::string& name, ValueId x) {
    const std::int64_t width = spec_.intermediate;
    const ValueId both = joined_dense(name, "gate_up", {{"gate_proj", width}, {"up_proj", width}}, x, DenseBias::none);
    return dense(name + ".down_proj", add(name + ".act_fn", std::make_shared<SwiGlu>(), {both}), spec_.hidden,
                 DenseBias::none);
  }

  ValueId rms_norm(const std::string& name, ValueId x, std::int64_t width) {
    const ValueId gamma = parameter(ones(name + ".weight", width));
    return add(name, std::make_shared<RmsNorm>(spec_.rms_norm_epsilon), {x, gamma});
  }

  const LlamaSpec& spec_;
  ValueId angles_ = no_value;
};

class Llama final : public Model {
 public:
  explicit Llama(const LlamaSpec& spec) : spec_(spec) {}

  std::string name() const override { return std::string(enum_name(spec_.form)); }
  std::string signature() const override {
    return fmt::format("{} layers={} hidden={} heads={} kv_heads={} head_dim={} vocab={}", name(), spec_.layers,
                       spec_.hidden, spec_.heads, spec_.kv_heads, spec_.head_dim, spec_.vocab_size);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return LlamaBuilder(spec_, mode).build(batch); }
  Bucket bucket_for(const Bucket& batch, Mode mode) const override {
    const bool packed = is_deployed(mode) || spec_.padding == Padding::none;
    return packed ? packed_bucket(batch, spec_.max_length, mode) : Model::bucket_for(batch, mode);
  }
  DataKind reads() const override { return DataKind::tokens; }
  std::string config_json() const override { return llama_config_json(spec_); }

 private:
  LlamaSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_llama(const LlamaSpec& spec) {
  const std::string_view name = enum_name(spec.form);
  if (spec.heads % spec.kv_heads != 0) {
    fail_usage("{}: {} key heads do not divide the {} query heads", name, spec.kv_heads, spec.heads);
  }
  if (spec.head_dim % 2 != 0) fail_usage("{}: a head of {} channels has no pairs to rotate", name, spec.head_dim);
  if (spec.max_length > spec.max_positions) {
    fail_usage("data.max_length: {} tokens exceed the model's {} positions", spec.max_length, spec.max_positions);
  }
  return std::make_unique<Llama>(spec);
}

}  // namespace ptrain
