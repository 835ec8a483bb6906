// Sizes of GPT-2: the published ones by name, any other from transformers' config.json.
#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "models/text/architecture_file.h"
#include "models/text/gpt2.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

constexpr std::string_view model_type = "gpt2";

constexpr std::array<TransformerSize, 6> gpt2_sizes{{{"tiny", 2, 128, 2},
                                                     {"mini", 4, 256, 4},
                                                     {"small", 4, 512, 8},
                                                     {"base", 12, 768, 12},
                                                     {"medium", 24, 1024, 16},
                                                     {"large", 36, 1280, 20}}};

Gpt2Spec gpt2_architecture(const Config& config, const DatasetInfo& data) {
  const std::filesystem::path config_json = find_architecture_file(config);
  if (!config_json.empty()) return gpt2_spec_from_config(config_json);
  Gpt2Spec spec = gpt2_spec_of_size(enum_name(config.model.size));
  spec.vocab_size = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  return spec;
}

}  // namespace

Gpt2Spec gpt2_spec(const Config& config, const DatasetInfo& data) {
  Gpt2Spec spec = gpt2_architecture(config, data);
  require_rows_for(data, spec.vocab_size, config);
  spec.max_length = data.max_length;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.attention = config.model.attention;
  return spec;
}

std::vector<std::string> gpt2_size_names() { return list_names<TransformerSize>(gpt2_sizes); }

Gpt2Spec gpt2_spec_of_size(std::string_view size) { return spec_of_size<Gpt2Spec>(gpt2_sizes, size); }

Gpt2Spec gpt2_spec_from_config(const std::filesystem::path& config_json) {
  const nlohmann::json json = read_architecture(config_json);
  require_field(json, "model_type", model_type, "GPT-2", config_json);
  require_field(json, "scale_attn_weights", true, "GPT-2", config_json);
  require_field(json, "scale_attn_by_inverse_layer_idx", false, "GPT-2", config_json);
  require_field(json, "tie_word_embeddings", true, "GPT-2", config_json);
  Gpt2Spec spec;
  spec.layers = read_layers(json, "n_layer", config_json);
  spec.hidden = positive_integer(json, "n_embd", config_json);
  spec.heads = positive_integer(json, "n_head", config_json);
  spec.vocab_size = positive_integer(json, "vocab_size", config_json);
  spec.max_positions = positive_integer(json, "n_positions", config_json);
  const auto inner = json.find("n_inner");
  spec.intermediate =
      inner == json.end() || inner->is_null() ? 4 * spec.hidden : positive_integer(json, "n_inner", config_json);
  const auto epsilon = json.find("layer_norm_epsilon");
  if (epsilon != json.end() && epsilon->is_number()) spec.layer_norm_epsilon = epsilon->get<float>();
  const auto activation = json.find("activation_function");
  if (activation != json.end()) spec.activation = parse_activation(*activation, "activation_function", config_json);
  return spec;
}

std::string gpt2_config_json(const Gpt2Spec& spec) {
  const nlohmann::json json = {{"architectures", {"GPT2LMHeadModel"}},
                               {"model_type", model_type},
                               {"n_layer", spec.layers},
                               {"n_embd", spec.hidden},
                               {"n_head", spec.heads},
                               {"n_inner", spec.intermediate},
                               {"vocab_size", spec.vocab_size},
                               {"n_positions", spec.max_positions},
                               {"layer_norm_epsilon", spec.layer_norm_epsilon},
                               {"activation_function", name_of_activation(spec.activation)},
                               {"tie_word_embeddings", true}};
  return json.dump(2) + "\n";
}

}  // namespace ptrain
