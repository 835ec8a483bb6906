// Sizes of BERT and related models: the published ones by name, any other from transformers' config.json.
#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "core/data/factory.h"
#include "models/text/architecture_file.h"
#include "models/text/bert.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

constexpr std::array<TransformerSize, 6> bert_sizes{{{"tiny", 2, 128, 2},
                                                     {"mini", 4, 256, 4},
                                                     {"small", 4, 512, 8},
                                                     {"medium", 8, 512, 8},
                                                     {"base", 12, 768, 12},
                                                     {"large", 24, 1024, 16}}};

/// Names of the fields in config.json.
struct SizeFields {
  const char *layers, *hidden, *heads, *intermediate, *activation;
};
SizeFields size_fields(BertForm form) {
  if (form == BertForm::distilbert) return {"n_layers", "dim", "n_heads", "hidden_dim", "activation"};
  return {"num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "hidden_act"};
}

/// Rows that config.json includes in the number of positions.
std::int64_t rows_before_positions(BertForm form) { return form == BertForm::roberta ? roberta_first_position : 0; }

struct Names {
  std::string_view architecture, type;
};
Names get_names(BertForm form) {
  switch (form) {
    case BertForm::bert:
      return {"BertForSequenceClassification", "bert"};
    case BertForm::distilbert:
      return {"DistilBertForSequenceClassification", "distilbert"};
    case BertForm::roberta:
      return {"RobertaForSequenceClassification", "roberta"};
    case BertForm::ernie:
      return {"ErnieForSequenceClassification", "ernie"};
  }
  throw std::logic_error("a BERT without a form");
}

BertSpec architecture(BertForm form, const Config& config, const DatasetInfo& data) {
  const std::filesystem::path config_json = find_architecture_file(config);
  if (!config_json.empty()) return bert_spec_from_config(config_json, form);
  BertSpec spec = form == BertForm::bert ? bert_spec_of_size(enum_name(config.model.size)) : base_spec(form);
  spec.max_positions = config.model.max_positions;
  spec.vocab_size = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  return spec;
}

}  // namespace

BertSpec bert_spec(BertForm form, const Config& config, const DatasetInfo& data) {
  BertSpec spec = architecture(form, config, data);
  require_rows_for(data, spec.vocab_size, config);
  spec.has_value = config.model.head == "regression";
  spec.classes = config.model.classes;
  spec.labels = label_names(data);
  spec.max_length = data.max_length;
  spec.padding = config.data.padding;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.attention = config.model.attention;
  if (spec.activation != Activation::relu && config.model.gelu != GeluForm::automatic) {
    spec.activation = config.model.gelu == GeluForm::erf ? Activation::gelu_erf : Activation::gelu_tanh;
  }
  return spec;
}

std::vector<std::string> bert_size_names() { return list_names<TransformerSize>(bert_sizes); }

BertSpec bert_spec_of_size(std::string_view size) { return spec_of_size<BertSpec>(bert_sizes, size); }

BertSpec base_spec(BertForm form) {
  BertSpec spec;
  spec.form = form;
  if (form == BertForm::distilbert) spec.layers = 6;
  if (form == BertForm::ernie) spec.token_types = 4;
  if (form == BertForm::roberta) {
    spec.token_types = 1;
    spec.vocab_size = 50265;
    spec.layer_norm_epsilon = 1e-5f;
  }
  return spec;
}

BertSpec bert_spec_from_config(const std::filesystem::path& config_json, BertForm form) {
  const nlohmann::json json = read_architecture(config_json);
  const std::string_view type = get_names(form).type;
  require_field(json, "model_type", type, fmt::format("model.name {}", type), config_json);
  require_field(json, "position_embedding_type", "absolute", type, config_json);
  const SizeFields fields = size_fields(form);
  BertSpec spec;
  spec.form = form;
  spec.layers = read_layers(json, fields.layers, config_json);
  spec.hidden = positive_integer(json, fields.hidden, config_json);
  spec.heads = positive_integer(json, fields.heads, config_json);
  spec.intermediate = positive_integer(json, fields.intermediate, config_json);
  spec.vocab_size = positive_integer(json, "vocab_size", config_json);
  spec.max_positions = positive_integer(json, "max_position_embeddings", config_json) - rows_before_positions(form);
  if (form != BertForm::distilbert) spec.token_types = positive_integer(json, "type_vocab_size", config_json);
  const auto epsilon = json.find("layer_norm_eps");
  if (epsilon != json.end() && epsilon->is_number()) spec.layer_norm_epsilon = epsilon->get<float>();
  const auto activation = json.find(fields.activation);
  if (activation != json.end()) spec.activation = parse_activation(*activation, fields.activation, config_json);
  return spec;
}

std::string bert_config_json(const BertSpec& spec) {
  nlohmann::json labels = nlohmann::json::object();
  for (std::int64_t i = 0; i < spec.classes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    labels[std::to_string(i)] = at < spec.labels.size() ? spec.labels[at] : fmt::format("LABEL_{}", i);
  }
  const SizeFields fields = size_fields(spec.form);
  const Names names = get_names(spec.form);
  nlohmann::json json = {{"architectures", {names.architecture}},
                         {"model_type", names.type},
                         {fields.layers, spec.layers},
                         {fields.hidden, spec.hidden},
                         {fields.heads, spec.heads},
                         {fields.intermediate, spec.intermediate},
                         {"vocab_size", spec.vocab_size},
                         {"max_position_embeddings", spec.max_positions + rows_before_positions(spec.form)},
                         {fields.activation, name_of_activation(spec.activation)},
                         {"id2label", labels}};
  if (spec.form != BertForm::distilbert) {
    json["type_vocab_size"] = spec.token_types;
    json["layer_norm_eps"] = spec.layer_norm_epsilon;
  }
  if (spec.has_value) json["problem_type"] = "regression";
  return json.dump(2) + "\n";
}

}  // namespace ptrain
