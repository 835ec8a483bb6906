// BERT as a graph builder; variables bear transformers' names, query, key and value joined as "qkv".
#include "models/bert.h"

#include "core/base/errors.h"
#include "core/ops/activation.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "core/ops/embedding.h"
#include "core/ops/layer_norm.h"
#include "core/ops/linear.h"
#include "core/ops/select_token.h"
#include "core/ops/softmax_cross_entropy.h"

#include <algorithm>
#include <array>
#include <bit>

namespace ptrain {
namespace {

constexpr std::array<const char*, 3> joined_parts{"query", "key", "value"};  // rows of "qkv", in this order

constexpr std::int64_t capacity_granule = 16;  // tokens

std::int64_t round_up(std::int64_t value, std::int64_t granule) { return (value + granule - 1) / granule * granule; }

class BertBuilder {
 public:
  BertBuilder(const BertSpec& spec, const BatchShape& batch, Mode mode)
      : spec_(spec),
        batch_(batch.rows),
        packed_(spec.layout == TextLayout::packed),
        capacity_(batch.tokens > 0 ? batch.tokens : round_up(batch.rows * spec.max_length, capacity_granule)),
        dropout_(mode == Mode::training ? spec.dropout : 0.0f),
        label_smoothing_(mode == Mode::training ? spec.label_smoothing : 0.0f) {}

  Graph build() {
    const TensorDesc tokens{DType::i32, packed_ ? Shape{capacity_} : Shape{batch_, spec_.max_length}};
    const ValueId ids = graph_.add_input(model_io::ids, tokens);
    const ValueId token_types = graph_.add_input(model_io::token_types, tokens);
    lengths_ = graph_.add_input(model_io::lengths, {DType::i32, Shape{batch_}});
    if (packed_) offsets_ = graph_.add_input(model_io::offsets, {DType::i32, Shape{batch_ + 1}});
    const ValueId labels = graph_.add_input(model_io::labels, {DType::i32, Shape{batch_}});
    if (dropout_ > 0) rng_ = graph_.add_input(model_io::rng, {DType::i64, Shape{3}});

    ValueId x = embeddings(ids, token_types);
    for (std::int64_t i = 0; i < spec_.layers; ++i) x = layer(fmt::format("bert.encoder.layer.{}", i), x);
    x = graph_.add("first_token", std::make_shared<SelectToken>(), with_offsets({x}));
    x = linear("bert.pooler.dense", x, spec_.hidden);
    x = graph_.add("pooled", std::make_shared<ActivationOp>(Activation::tanh), {x});
    const ValueId logits = linear("classifier", dropout("classifier.dropout", x), spec_.classes);
    const ValueId loss = graph_.add("loss", std::make_shared<SoftmaxCrossEntropy>(label_smoothing_), {logits, labels});
    graph_.set_output(model_io::loss, loss);
    graph_.set_output(model_io::logits, logits);
    return std::move(graph_);
  }

 private:
  ValueId embeddings(ValueId ids, ValueId token_types) {
    const std::string name = "bert.embeddings";
    const ValueId word = graph_.add_parameter(name + ".word_embeddings.weight", Shape{spec_.vocab_size, spec_.hidden});
    const ValueId position =
        graph_.add_parameter(name + ".position_embeddings.weight", Shape{spec_.max_positions, spec_.hidden});
    const ValueId type =
        graph_.add_parameter(name + ".token_type_embeddings.weight", Shape{spec_.token_types, spec_.hidden});
    ValueId x =
        graph_.add(name, std::make_shared<BertEmbedding>(), with_offsets({ids, token_types, word, position, type}));
    x = layer_norm(name + ".LayerNorm", x);
    return dropout(name + ".dropout", x);
  }

  ValueId layer(const std::string& name, ValueId x) {
    const ValueId attended = attention(name + ".attention", x);
    ValueId y = linear(name + ".intermediate.dense", attended, spec_.intermediate);
    y = graph_.add(name + ".gelu", std::make_shared<ActivationOp>(spec_.gelu), {y});
    y = linear(name + ".output.dense", y, spec_.hidden);
    return residual_norm(name + ".output", y, attended);
  }

  ValueId attention(const std::string& name, ValueId x) {
    const ValueId qkv = linear(name + ".self.qkv", x, 3 * spec_.hidden);
    AttentionAttributes attrs;
    attrs.heads = static_cast<int>(spec_.heads);
    attrs.dropout = dropout_;
    attrs.stream = next_stream();
    attrs.algorithm = spec_.attention;
    attrs.max_length = packed_ ? spec_.max_length : 0;
    const ValueId heads =
        graph_.add(name + ".self", std::make_shared<Attention>(attrs), with_offsets({qkv, lengths_, rng_}));
    const ValueId y = linear(name + ".output.dense", heads, spec_.hidden);
    return residual_norm(name + ".output", y, x);
  }

  ValueId residual_norm(const std::string& name, ValueId y, ValueId residual) {
    const ValueId sum = graph_.add(name + ".add", std::make_shared<Add>(), {dropout(name + ".dropout", y), residual});
    return layer_norm(name + ".LayerNorm", sum);
  }

  ValueId layer_norm(const std::string& name, ValueId x) {
    const Shape width{spec_.hidden};
    const ValueId gamma = graph_.add_parameter(name + ".weight", width);
    const ValueId beta = graph_.add_parameter(name + ".bias", width);
    return graph_.add(name, std::make_shared<LayerNorm>(spec_.layer_norm_epsilon), {x, gamma, beta});
  }

  ValueId dropout(const std::string& name, ValueId x) {
    if (dropout_ <= 0) return x;
    return graph_.add(name, std::make_shared<Dropout>(DropoutAttributes{dropout_, next_stream()}), {x, rng_});
  }

  ValueId linear(const std::string& name, ValueId x, std::int64_t outputs) {
    const ValueId weight = graph_.add_parameter(name + ".weight", Shape{outputs, graph_.desc(x).shape[-1]});
    const ValueId bias = graph_.add_parameter(name + ".bias", Shape{outputs});
    return graph_.add(name, std::make_shared<Linear>(), {x, weight, bias});
  }

  /// The inputs of an op that knows sequences: packed ones have offsets behind the others.
  std::vector<ValueId> with_offsets(std::vector<ValueId> inputs) const {
    if (packed_) inputs.push_back(offsets_);
    return inputs;
  }

  std::uint32_t next_stream() { return ++streams_; }

  const BertSpec& spec_;
  std::int64_t batch_;
  bool packed_;
  std::int64_t capacity_;  // tokens, packed
  float dropout_;
  float label_smoothing_;
  std::uint32_t streams_ = 0;
  Graph graph_;
  ValueId lengths_ = no_value;
  ValueId offsets_ = no_value;
  ValueId rng_ = no_value;
};

class Bert final : public Model {
 public:
  explicit Bert(const BertSpec& spec) : spec_(spec) {}

  std::string name() const override { return "bert"; }
  std::string signature() const override {
    return fmt::format("bert layers={} hidden={} heads={} vocab={} classes={}", spec_.layers, spec_.hidden, spec_.heads,
                       spec_.vocab_size, spec_.classes);
  }
  Graph build(const BatchShape& batch, Mode mode) const override { return BertBuilder(spec_, batch, mode).build(); }
  /// Eight capacities to each doubling, so that less than an eighth of one is empty but for the smallest.
  std::int64_t token_capacity(std::int64_t rows, std::int64_t tokens) const override {
    if (spec_.layout == TextLayout::padded) return 0;
    const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(tokens)));
    return std::min(round_up(tokens, std::max(capacity_granule, below / 8)),
                    round_up(rows * spec_.max_length, capacity_granule));
  }
  bool is_text() const override { return true; }
  std::string config_json() const override { return bert_config_json(spec_); }

  std::vector<WeightMapping> weights() const override {
    std::vector<WeightMapping> mappings;
    const Graph graph = build(1, Mode::evaluation);
    for (const Value& value : graph.values()) {
      if (value.storage != Storage::parameter) continue;
      const std::size_t joined = value.name.find(".qkv.");
      if (joined == std::string::npos) {
        mappings.push_back({value.name, value.name, value.desc.shape});
        mappings.back().head = value.name.starts_with("classifier.");
        continue;
      }
      std::vector<std::int64_t> dims = value.desc.shape.dims();
      dims[0] /= 3;
      std::int64_t row = 0;
      for (const char* part : joined_parts) {
        std::string external = value.name;
        external.replace(joined + 1, 3, part);
        mappings.push_back({value.name, external, Shape(dims), WeightMapping::Layout::rows, row});
        row += dims[0];
      }
    }
    return mappings;
  }

  Initializer initializer(const Value& variable) const override {
    if (variable.desc.shape.rank() >= 2) return {Initializer::Kind::normal, 0.02f};
    const bool norm_scale = variable.name.ends_with("LayerNorm.weight");
    return {Initializer::Kind::constant, norm_scale ? 1.0f : 0.0f};
  }

 private:
  BertSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_bert(const BertSpec& spec) {
  if (spec.hidden % spec.heads != 0) {
    fail_usage("bert: {} attention heads do not divide the hidden width {}", spec.heads, spec.hidden);
  }
  if (spec.max_length > spec.max_positions) {
    fail_usage("data.max_length: {} tokens exceed the model's {} positions", spec.max_length, spec.max_positions);
  }
  return std::make_unique<Bert>(spec);
}

}  // namespace ptrain
