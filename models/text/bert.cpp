// One graph builder for BERT and related models; variables have transformers' names, with query, key and value joined
// as "qkv".
#include "models/text/bert.h"

#include "core/base/errors.h"
#include "core/ops/activation.h"
#include "core/ops/text/embedding.h"
#include "core/ops/text/gather_token.h"

#include <algorithm>
#include <bit>

namespace ptrain {
namespace {

/// Names of variables in each form. A layer's parts follow its name.
struct EncoderForm {
  std::string name, layer;
  std::string self;  // the joined query, key and value:
  std::vector<std::string> parts;
  std::string attended, attention_norm, first, second, norm;
  std::string pooler;
  Activation pooled;
  std::string classifier = "classifier";
  bool drops_first_token = false;   // dropout before the pooler too
  std::int64_t first_position = 0;  // first row of the position table that sequences use
};

const EncoderForm& get_form(BertForm form) {
  static const EncoderForm bert{"bert",
                                "bert.encoder.layer.",
                                ".attention.self",
                                {"query", "key", "value"},
                                ".attention.output.dense",
                                ".attention.output.LayerNorm",
                                ".intermediate.dense",
                                ".output.dense",
                                ".output.LayerNorm",
                                "bert.pooler.dense",
                                Activation::tanh};
  static const EncoderForm roberta = [] {
    EncoderForm renamed = bert;
    renamed.name = "roberta";
    renamed.layer = "roberta.encoder.layer.";
    renamed.pooler = "classifier.dense";
    renamed.classifier = "classifier.out_proj";
    renamed.drops_first_token = true;
    renamed.first_position = roberta_first_position;
    return renamed;
  }();
  static const EncoderForm ernie = [] {
    EncoderForm renamed = bert;
    renamed.name = "ernie";
    renamed.layer = "ernie.encoder.layer.";
    renamed.pooler = "ernie.pooler.dense";
    return renamed;
  }();
  static const EncoderForm distilbert{"distilbert",         "distilbert.transformer.layer.",
                                      ".attention",         {"q_lin", "k_lin", "v_lin"},
                                      ".attention.out_lin", ".sa_layer_norm",
                                      ".ffn.lin1",          ".ffn.lin2",
                                      ".output_layer_norm", "pre_classifier",
                                      Activation::relu};
  switch (form) {
    case BertForm::bert:
      return bert;
    case BertForm::distilbert:
      return distilbert;
    case BertForm::roberta:
      return roberta;
    case BertForm::ernie:
      return ernie;
  }
  throw std::logic_error("a BERT without a form");
}

class BertBuilder final : public TextBlocks {
 public:
  BertBuilder(const BertSpec& spec, Mode mode)
      : TextBlocks(mode, spec.padding, spec.dropout, get_form(spec.form).name + "."),
        spec_(spec),
        form_(get_form(spec.form)) {}

  BuiltModel build(const Bucket& batch) {
    ValueId x = embeddings(inputs(batch, spec_.max_length));
    for (std::int64_t i = 0; i < spec_.layers; ++i) x = layer(fmt::format("{}{}", form_.layer, i), x);
    x = add("first_token", std::make_shared<GatherToken>(), with_offsets({x}));
    if (form_.drops_first_token) x = dropout("first_token.dropout", x);
    x = linear(form_.pooler, x, of_head(matrix(form_.pooler + ".weight", spec_.hidden, spec_.hidden)),
               of_head(zeros(form_.pooler + ".bias", spec_.hidden)));
    x = add("pooled", std::make_shared<ActivationOp>(form_.pooled), {x});
    x = dropout("classifier.dropout", x);
    return finish(classifier(form_.classifier, x, spec_.classes, normal_start(0.02f), constant_start(0)));
  }

 private:
  ValueId embeddings(const Tokens& tokens) {
    const std::string name = form_.name + ".embeddings";
    const auto table = [&](const char* of, std::int64_t rows) {
      return parameter(matrix(name + of, rows, spec_.hidden));
    };
    const ValueId word = table(".word_embeddings.weight", spec_.vocab_size);
    const ValueId position = table(".position_embeddings.weight", form_.first_position + spec_.max_positions);
    const ValueId type = token_types(name);
    const ValueId sum = add(name, std::make_shared<BertEmbedding>(form_.first_position),
                            with_offsets({tokens.ids, tokens.types, word, position, type}));
    return dropout(name + ".dropout", layer_norm(name + ".LayerNorm", sum, spec_.layer_norm_epsilon));
  }

  ValueId token_types(const std::string& name) {
    if (spec_.form == BertForm::distilbert) {  // constant zeros, not in files
      return state({name + ".no_token_types", Shape{spec_.token_types, spec_.hidden}, constant_start(0), {}});
    }
    const std::int64_t rows = std::max(spec_.token_types, token_types_of_texts);
    ModelVariable table = matrix(name + ".token_type_embeddings.weight", rows, spec_.hidden);
    table.files.front().external_shape = Shape{spec_.token_types, spec_.hidden};
    if (spec_.form == BertForm::ernie) table.files.front().added_row = name + ".task_type_embeddings.weight";
    return parameter(std::move(table));
  }

  ValueId layer(const std::string& name, ValueId x) {
    const ValueId attended = attention(name, x);
    ValueId y = dense(name + form_.first, attended, spec_.intermediate);
    y = add(name + ".gelu", std::make_shared<ActivationOp>(spec_.activation), {y});
    y = dense(name + form_.second, y, spec_.hidden);
    return residual_norm(name + ".output", name + form_.norm, y, attended, spec_.layer_norm_epsilon);
  }

  ValueId attention(const std::string& name, ValueId x) {
    std::vector<DensePart> parts;
    for (const std::string& part : form_.parts) parts.push_back({part, spec_.hidden});
    const ValueId qkv = joined_dense(name + form_.self, "qkv", parts, x);
    AttentionAttributes attrs;
    attrs.heads = static_cast<int>(spec_.heads);
    attrs.dropout = dropout_;
    attrs.stream = next_stream();
    attrs.algorithm = spec_.attention;
    const ValueId y = dense(name + form_.attended, attend(name + form_.self, attrs, qkv), spec_.hidden);
    return residual_norm(name + ".attention.output", name + form_.attention_norm, y, x, spec_.layer_norm_epsilon);
  }

  const BertSpec& spec_;
  const EncoderForm& form_;
};

class Bert final : public Model {
 public:
  explicit Bert(const BertSpec& spec) : spec_(spec) {}

  std::string name() const override { return get_form(spec_.form).name; }
  std::string signature() const override {
    return fmt::format("{} layers={} hidden={} heads={} vocab={} classes={}", name(), spec_.layers, spec_.hidden,
                       spec_.heads, spec_.vocab_size, spec_.classes);
  }
  BuiltModel construct(const Bucket& batch, Mode mode) const override { return BertBuilder(spec_, mode).build(batch); }
  Bucket bucket_for(const Bucket& batch, Mode mode) const override {
    return spec_.padding == Padding::none ? packed_bucket(batch, spec_.max_length, mode)
                                          : Model::bucket_for(batch, mode);
  }
  DataKind reads() const override { return DataKind::text; }
  std::string config_json() const override { return bert_config_json(spec_); }

 private:
  BertSpec spec_;
};

}  // namespace

std::unique_ptr<Model> make_bert(const BertSpec& spec) {
  if (spec.hidden % spec.heads != 0) {
    fail_usage("{}: {} attention heads do not divide the hidden width {}", get_form(spec.form).name, spec.heads,
               spec.hidden);
  }
  if (spec.max_length > spec.max_positions) {
    fail_usage("data.max_length: {} tokens exceed the model's {} positions", spec.max_length, spec.max_positions);
  }
  return std::make_unique<Bert>(spec);
}

}  // namespace ptrain
