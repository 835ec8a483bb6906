// Sizes of BERT: the published ones by name, any other from transformers' config.json.
#include "core/base/errors.h"
#include "core/config/choices.h"
#include "core/data/factory.h"
#include "models/bert.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>

namespace ptrain {
namespace {

struct NamedSize {
  std::string_view name;
  std::int64_t layers, hidden, heads;
};

constexpr std::array<NamedSize, 6> sizes{{{"tiny", 2, 128, 2},
                                          {"mini", 4, 256, 4},
                                          {"small", 4, 512, 8},
                                          {"medium", 8, 512, 8},
                                          {"base", 12, 768, 12},
                                          {"large", 24, 1024, 16}}};

std::int64_t integer(const nlohmann::json& json, const char* field, const std::filesystem::path& file) {
  const auto it = json.find(field);
  if (it == json.end() || !it->is_number_integer() || it->get<std::int64_t>() < 1) {
    fail("{}: {}: expected a positive integer", file.string(), field);
  }
  return it->get<std::int64_t>();
}

BertSpec architecture(const Config& config, const DatasetInfo& data) {
  const std::filesystem::path weights = config.model.weights;
  const std::filesystem::path beside = weights.parent_path() / "config.json";
  if (!weights.empty() && std::filesystem::exists(beside)) return bert_spec_from_config(beside);
  BertSpec spec = bert_spec_of_size(choice_name(config.model.size));
  spec.max_positions = config.model.max_positions;
  spec.vocab_size = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  return spec;
}

}  // namespace

BertSpec bert_spec(const Config& config, const DatasetInfo& data) {
  BertSpec spec = architecture(config, data);
  if (data.vocab_size > spec.vocab_size) {
    fail_usage("data.vocab: has {} entries, but the embedding table of {} has {} rows", data.vocab_size,
               config.model.weights.empty() ? config.model.name : config.model.weights, spec.vocab_size);
  }
  spec.head = config.model.head;
  spec.classes = config.model.classes;
  spec.labels = label_names(data);
  spec.max_length = data.max_length;
  spec.padding = config.data.padding;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.attention = config.model.attention;
  spec.gelu = config.model.gelu == GeluForm::erf ? Activation::gelu_erf : Activation::gelu_tanh;
  spec.label_smoothing = static_cast<float>(config.train.label_smoothing);
  return spec;
}

BertSpec bert_spec_of_size(std::string_view size) {
  for (const NamedSize& s : sizes) {
    if (s.name != size) continue;
    BertSpec spec;
    spec.layers = s.layers;
    spec.hidden = s.hidden;
    spec.heads = s.heads;
    spec.intermediate = 4 * s.hidden;
    return spec;
  }
  fail_usage("model.size: unknown size \"{}\": expected tiny, mini, small, medium, base or large", size);
}

BertSpec bert_spec_from_config(const std::filesystem::path& config_json) {
  std::ifstream file(config_json);
  if (!file) {
    fail(
        "{}: cannot be read: expected transformers' config.json beside the weights (scripts/fetch_weights.sh fetches "
        "those that configs/ name)",
        config_json.string());
  }
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) fail("{}: is not a JSON object", config_json.string());
  BertSpec spec;
  spec.layers = integer(json, "num_hidden_layers", config_json);
  spec.hidden = integer(json, "hidden_size", config_json);
  spec.heads = integer(json, "num_attention_heads", config_json);
  spec.intermediate = integer(json, "intermediate_size", config_json);
  spec.vocab_size = integer(json, "vocab_size", config_json);
  spec.max_positions = integer(json, "max_position_embeddings", config_json);
  spec.token_types = integer(json, "type_vocab_size", config_json);
  const auto epsilon = json.find("layer_norm_eps");
  if (epsilon != json.end() && epsilon->is_number()) spec.layer_norm_epsilon = epsilon->get<float>();
  return spec;
}

std::string bert_config_json(const BertSpec& spec) {
  nlohmann::json labels = nlohmann::json::object();
  for (std::int64_t i = 0; i < spec.classes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    labels[std::to_string(i)] = at < spec.labels.size() ? spec.labels[at] : fmt::format("LABEL_{}", i);
  }
  nlohmann::json json = {{"architectures", {"BertForSequenceClassification"}},
                         {"model_type", "bert"},
                         {"num_hidden_layers", spec.layers},
                         {"hidden_size", spec.hidden},
                         {"num_attention_heads", spec.heads},
                         {"intermediate_size", spec.intermediate},
                         {"vocab_size", spec.vocab_size},
                         {"max_position_embeddings", spec.max_positions},
                         {"type_vocab_size", spec.token_types},
                         {"layer_norm_eps", spec.layer_norm_epsilon},
                         {"hidden_act", spec.gelu == Activation::gelu_erf ? "gelu" : "gelu_new"},
                         {"id2label", labels}};
  if (spec.head == Head::regression) json["problem_type"] = "regression";
  return json.dump(2) + "\n";
}

}  // namespace ptrain
