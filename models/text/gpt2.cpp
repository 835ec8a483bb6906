// Pre-norm blocks, a head that shares the token embedding, and in each layer one product for query, key and value.
#include "models/text/gpt2.h"

#include "core/base/errors.h"
#include "core/ops/activation.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/text/embedding.h"

#include <cmath>

namespace ptrain {
namespace {

class Gpt2Builder final : public TextBlocks {
 public:
  Gpt2Builder(const Gpt2Spec& spec, Mode mode)
      : TextBlocks(mode, is_deployed(mode) ? Padding::none : Padding::max_length, spec.dropout, "transformer."),
        spec_(spec) {}

  BuiltModel build(const Bucket& batch) {
    const Tokens tokens = inputs(batch, spec_.max_length);
    const ValueId words = parameter(matrix("transformer.wte.weight", spec_.vocab_size, spec_.hidden));
    ValueId x = embeddings(tokens, words);
    for (std::int64_t i = 0; i < spec_.layers; ++i) x = layer(fmt::format("transformer.h.{}", i), x);
    if (packed_) x = last_tokens(x, batch.rows);
    x = layer_norm("transformer.ln_f", x, spec_.layer_norm_epsilon);
    return finish(add("lm_head", std::make_shared<Linear>(), {x, words}));
  }

 private:
  ValueId embeddings(const Tokens& tokens, ValueId words) {
    const ValueId positions = parameter(matrix("transformer.wpe.weight", spec_.max_positions, spec_.hidden));
    // Constant zeros, not in files.
    const ValueId types = state({"transformer.no_token_types", Shape{1, spec_.hidden}, constant_start(0), {}});
    const ValueId sum = add("transformer.embeddings", std::make_shared<BertEmbedding>(),
                            with_positions({tokens.ids, tokens.types, words, positions, types}));
    return dropout("transformer.drop", sum);
  }

  ValueId layer(const std::string& name, ValueId x) {
    const ValueId attended = attention(name + ".attn", layer_norm(name + ".ln_1", x, spec_.layer_norm_epsilon));
    x = branch(name + ".add_attention", attended, x);
    ValueId y = transposed_dense(name + ".mlp.c_fc", layer_norm(name + ".ln_2", x, spec_.layer_norm_epsilon),
                                 spec_.intermediate, start_);
    y = add(name + ".mlp.act", std::make_shared<ActivationOp>(spec_.activation), {y});
    return branch(name + ".add", transposed_dense(name + ".mlp.c_proj", y, spec_.hidden, branch_start()), x);
  }

  ValueId attention(const std::string& name, ValueId x) {
    const ValueId qkv = transposed_dense(name + ".c_attn", x, 3 * spec_.hidden, start_);
    AttentionAttributes attrs;
    attrs.heads = static_cast<int>(spec_.heads);
    attrs.dropout = dropout_;
    attrs.stream = next_stream();
    attrs.algorithm = spec_.attention;
    attrs.causal = true;
    return transposed_dense(name + ".c_proj", attend(name, attrs, qkv), spec_.hidden, branch_start());
  }

  ValueId branch(const std::string& name, ValueId y, ValueId x) {
    return add(name, std::make_shared<Add>(), {x, dropout(name + ".dropout", y)});
  }

  /// A dense layer whose weights are [inputs, outputs] in files.
  ValueId transposed_dense(const std::string& name, ValueId x, std::int64_t outputs, float deviation) {
    ModelVariable weight = matrix(name + ".weight", outputs, channels(x));
    weight.initializer = normal_start(deviation);
    weight.files.front().layout = WeightMapping::Layout::transposed;
    weight.files.front().external_shape = Shape{channels(x), outputs};
    return linear(name, x, std::move(weight), zeros(name + ".bias", outputs));
  }

  /// Residual branches start smaller by the square root of their number (Radford et al. 2019, section 2.3).
  float branch_start() const { return start_ / std::sqrt(2.0f * static_cast<float>(spec_.layers)); }

  static constexpr float start_ = 0.02f;

  const Gpt2Spec& spec_;
};

class Gpt2 final : public Model {
 public:
  explicit Gpt2(const Gpt2Spec& spec) : spec_(spec) {}

  std::string name() const override { return "gpt2"; }
  std::string signature() const override {
    return fmt::format("{} layers={} hidden={} heads={} vocab={}", name(), spec_.layers, spec_.hidden, spec_.heads,
                       spec_.vocab_size);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return Gpt2Builder(spec_, mode).build(batch); }
  /// Training blocks are full; texts to continue are packed.
  Bucket bucket_for(const Bucket& batch, Mode mode) const override {
    return is_deployed(mode) ? packed_bucket(batch, spec_.max_length, mode) : Model::bucket_for(batch, mode);
  }
  DataKind reads() const override { return DataKind::tokens; }
  std::string config_json() const override { return gpt2_config_json(spec_); }

 private:
  Gpt2Spec spec_;
};

}  // namespace

std::unique_ptr<Model> make_gpt2(const Gpt2Spec& spec) {
  if (spec.hidden % spec.heads != 0) {
    fail_usage("gpt2: {} attention heads do not divide the hidden width {}", spec.heads, spec.hidden);
  }
  if (spec.max_length > spec.max_positions) {
    fail_usage("data.max_length: {} tokens exceed the model's {} positions", spec.max_length, spec.max_positions);
  }
  return std::make_unique<Gpt2>(spec);
}

}  // namespace ptrain
