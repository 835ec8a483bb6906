// Source and translation are packed: each is one axis of the tokens of all sequences.
#include "models/text/transformer.h"

#include "core/base/errors.h"
#include "core/data/tensor_names.h"
#include "core/ops/activation.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/text/cross_attention.h"
#include "core/ops/text/embedding.h"
#include "core/ops/text/rotary_embedding.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr const char* table_name = "model.shared.weight";
constexpr float norm_epsilon = 1e-5f;

class TransformerBuilder final : public TextBlocks {
 public:
  TransformerBuilder(const TransformerSpec& spec, Mode mode)
      : TextBlocks(mode, Padding::none, spec.dropout, "model."), spec_(spec) {}

  /// In prefill a text's decoder reads the first token of its translation, and in decoding one more.
  BuiltModel build(const Bucket& batch) {
    const Tokens first = inputs(batch, spec_.max_length, TokenTypes::none);
    if (rng_ == no_value && attention_dropout() > 0) {
      rng_ = graph_.add_input(tensor_names::rng, {DType::i64, Shape{3}});
    }
    table_ = parameter(shared_table());
    const TensorDesc one_each{DType::i32, Shape{batch.rows}};
    if (mode() == Mode::decoding) {
      read_cache_sources(batch.rows);
      memory_slots_ = graph_.add_input(tensor_names::memory_slots, one_each);
      last_positions_ = graph_.add_input(tensor_names::last_positions, one_each);
      return finish(logits(decode(first.ids)));
    }
    memory_offsets_ = offsets();
    encode(first.ids);
    const TensorDesc tokens = mode() == Mode::prefill ? one_each : graph_.desc(first.ids);
    const ValueId ids = graph_.add_input(tensor_names::decoder_ids, tokens);
    read_sequences(graph_.add_input(tensor_names::decoder_lengths, one_each),
                   graph_.add_input(tensor_names::decoder_offsets, {DType::i32, Shape{batch.rows + 1}}));
    return finish(logits(decode(ids)));
  }

 private:
  bool is_pre() const { return spec_.norm == NormPlace::pre; }
  float attention_dropout() const { return training() ? spec_.attention_dropout : 0.0f; }

  ModelVariable shared_table() const {
    ModelVariable table = matrix(table_name, spec_.vocab_size, spec_.hidden);
    table.initializer = normal_start(1.0f / std::sqrt(static_cast<float>(spec_.hidden)));
    std::vector<std::string>& names = table.files.front().other_names;
    names.insert(names.end(),
                 {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"});
    return table;
  }

  /// Sets what the decoder's layers make their keys and values of: with a cache once, since they are kept.
  void encode(ValueId ids) {
    ValueId x = embed("model.encoder", ids);
    for (std::int64_t i = 0; i < spec_.layers; ++i) {
      const std::string name = fmt::format("model.encoder.layers.{}", i);
      x = branch(name + ".self_attn", x, [&](ValueId y) { return self_attention(name + ".self_attn", y, Sees::all); });
      x = branch(name + ".final", x, [&](ValueId y) { return feed_forward(name, y); });
    }
    memory_ = is_pre() ? layer_norm("model.encoder.layer_norm", x, norm_epsilon) : x;
  }

  ValueId decode(ValueId ids) {
    ValueId x = embed("model.decoder", ids);
    for (std::int64_t i = 0; i < spec_.layers; ++i) {
      const std::string name = fmt::format("model.decoder.layers.{}", i);
      x = branch(name + ".self_attn", x, [&](ValueId y) { return self_attention(name + ".self_attn", y, Sees::past); });
      x = branch(name + ".encoder_attn", x, [&](ValueId y) { return cross_attention(name + ".encoder_attn", y); });
      x = branch(name + ".final", x, [&](ValueId y) { return feed_forward(name, y); });
    }
    return is_pre() ? layer_norm("model.decoder.layer_norm", x, norm_epsilon) : x;
  }

  /// Embeddings times the square root of the width, and sinusoids of the positions (Vaswani et al. 2017, section 3.5),
  /// with the sines of all frequencies first as in MarianMTModel.
  ValueId embed(const std::string& name, ValueId ids) {
    const ValueId words = add(name + ".embed_tokens", std::make_shared<Embedding>(), {ids, table_});
    const float scale = std::sqrt(static_cast<float>(spec_.hidden));
    const ValueId scaled = add(name + ".embed_scale", std::make_shared<Scale>(scale), {words});
    const RotaryAttributes sinusoids{.depth = spec_.hidden, .sines_first = true};
    const ValueId positions =
        add(name + ".embed_positions", std::make_shared<RotaryTable>(sinusoids), with_positions({ids}));
    const ValueId sum = add(name + ".embeddings", std::make_shared<Add>(), {scaled, positions});
    return dropout(name + ".dropout", sum);
  }

  /// A residual branch `body` with its norm, "name_layer_norm".
  template <typename Body>
  ValueId branch(const std::string& name, ValueId x, const Body& body) {
    const std::string norm = name + "_layer_norm";
    if (!is_pre()) return residual_norm(name, norm, body(x), x, norm_epsilon);
    const ValueId y = dropout(name + ".dropout", body(layer_norm(norm, x, norm_epsilon)));
    return add(name + ".add", std::make_shared<Add>(), {y, x});
  }

  enum class Sees { all, past };
  ValueId self_attention(const std::string& name, ValueId x, Sees sees) {
    const std::int64_t width = spec_.hidden;
    const ValueId qkv = joined_dense(name, "qkv", {{"q_proj", width}, {"k_proj", width}, {"v_proj", width}}, x);
    AttentionAttributes attributes;
    attributes.heads = static_cast<int>(spec_.heads);
    attributes.dropout = attention_dropout();
    attributes.stream = next_stream();
    attributes.causal = sees == Sees::past;
    return dense(name + ".out_proj", attend(name, attributes, qkv), width);
  }

  ValueId cross_attention(const std::string& name, ValueId x) {
    const ValueId q = dense(name + ".q_proj", x, spec_.hidden);
    return dense(name + ".out_proj", mode() == Mode::decoding ? attend_cached(name, q) : attend_memory(name, q),
                 spec_.hidden);
  }

  ValueId attend_cached(const std::string& name, ValueId q) {
    const auto [keys, values] = add_cache(name, spec_.heads, spec_.hidden / spec_.heads);
    return add(name, std::make_shared<CachedAttention>(cache_attributes()),
               {q, keys, values, memory_slots_, offsets(), last_positions_});
  }

  ValueId attend_memory(const std::string& name, ValueId q) {
    const std::int64_t width = spec_.hidden;
    ValueId kv = joined_dense(name, "kv", {{"k_proj", width}, {"v_proj", width}}, memory_);
    if (has_cache(mode())) {
      const LayerCache cache = add_cache(name, spec_.heads, width / spec_.heads);
      kv = append(name + ".cache", cache_attributes(), cache, kv, memory_offsets_);
    }
    CrossAttentionAttributes attributes;
    attributes.heads = static_cast<int>(spec_.heads);
    attributes.dropout = attention_dropout();
    attributes.stream = next_stream();
    attributes.max_queries = attributes.max_keys = spec_.max_length;
    std::vector<ValueId> read{q, kv, offsets(), memory_offsets_};
    if (attributes.dropout > 0) read.push_back(rng_);
    return add(name, std::make_shared<CrossAttention>(attributes), read);
  }

  CacheAttributes cache_attributes() const {
    const int heads = static_cast<int>(spec_.heads);
    return {heads, heads};
  }

  ValueId feed_forward(const std::string& name, ValueId x) {
    const ValueId y = add(name + ".activation_fn", std::make_shared<ActivationOp>(spec_.activation),
                          {dense(name + ".fc1", x, spec_.intermediate)});
    return dense(name + ".fc2", y, spec_.hidden);
  }

  /// Of all token ids, from the shared table; Marian's models add a bias that is not trained.
  ValueId logits(ValueId x) {
    ModelVariable bias = make_variable("final_logits_bias", Shape{spec_.vocab_size}, constant_start(0));
    bias.files.front().external_shape = Shape{1, spec_.vocab_size};
    return add("lm_head", std::make_shared<Linear>(), {x, table_, state(std::move(bias))});
  }

  const TransformerSpec& spec_;
  ValueId table_ = no_value;
  ValueId memory_ = no_value, memory_offsets_ = no_value;        // the encoder's output
  ValueId memory_slots_ = no_value, last_positions_ = no_value;  // where its keys are in the cache
};

/// Matrices start uniform with the variance 2 / (inputs + outputs) (Glorot and Bengio 2010), each layer by itself.
void start_uniform(BuiltModel& built) {
  for (ModelVariable& variable : built.variables) {
    if (!is_weight_matrix(variable.shape) || variable.name == table_name) continue;
    const Shape& layer = variable.files.front().external_shape;
    variable.initializer = uniform_start(std::sqrt(6.0f / static_cast<float>(layer[0] + layer[1])));
  }
}

class Transformer final : public Model {
 public:
  explicit Transformer(const TransformerSpec& spec) : spec_(spec) {}

  std::string name() const override { return "transformer"; }
  std::string signature() const override {
    return fmt::format("{} layers={} hidden={} heads={} intermediate={} vocab={} {}-norm {}", name(), spec_.layers,
                       spec_.hidden, spec_.heads, spec_.intermediate, spec_.vocab_size,
                       spec_.norm == NormPlace::pre ? "pre" : "post", to_string(spec_.activation));
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override {
    BuiltModel built = TransformerBuilder(spec_, mode).build(batch);
    start_uniform(built);
    return built;
  }
  Bucket bucket_for(const Bucket& batch, Mode mode) const override {
    return packed_bucket(batch, spec_.max_length, mode);
  }
  DataKind reads() const override { return DataKind::parallel; }
  std::string config_json() const override { return transformer_config_json(spec_); }

 private:
  TransformerSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_transformer(const TransformerSpec& spec) {
  if (spec.hidden % spec.heads != 0) {
    fail_usage("transformer: {} attention heads do not divide the hidden width {}", spec.heads, spec.hidden);
  }
  return std::make_unique<Transformer>(spec);
}

}  // namespace ptrain
