// Sizes of the Transformer: published ones by name, any other from transformers' config.json of MarianMTModel or, of
// pre-norm ones, PegasusForConditionalGeneration.
#include "core/base/errors.h"
#include "core/config/config_enums.h"
#include "models/text/architecture_file.h"
#include "models/text/transformer.h"

#include <algorithm>
#include <array>

namespace ptrain {
namespace {

/// transformers' network of the same equations and names of weights.
struct Counterpart {
  std::string_view network, type;
};
constexpr Counterpart post_norm{"MarianMTModel", "marian"}, pre_norm{"PegasusForConditionalGeneration", "pegasus"};

struct NamedTransformer {
  std::string_view name;
  std::int64_t layers, hidden, heads, intermediate;
};
constexpr std::array<NamedTransformer, 4> transformer_sizes{
    {{"tiny", 4, 128, 4, 256}, {"small", 6, 512, 4, 1024}, {"base", 6, 512, 8, 2048}, {"large", 6, 1024, 16, 4096}}};

TransformerSpec transformer_of_size(std::string_view name) {
  const auto size = std::ranges::find(transformer_sizes, name, &NamedTransformer::name);
  if (size == transformer_sizes.end()) fail_size(name, transformer_size_names());
  TransformerSpec spec;
  spec.layers = size->layers;
  spec.hidden = size->hidden;
  spec.heads = size->heads;
  spec.intermediate = size->intermediate;
  return spec;
}

/// A field that encoder and decoder have each, of the same value.
std::int64_t common_integer(const nlohmann::json& json, const char* encoder, const char* decoder,
                            const std::filesystem::path& file) {
  const std::int64_t value = positive_integer(json, encoder, file);
  require_field(json, decoder, value, "a Transformer with equal encoder and decoder", file);
  return value;
}

TransformerSpec transformer_from_config(const std::filesystem::path& config_json) {
  const nlohmann::json json = read_architecture(config_json);
  const auto type = json.find("model_type");
  const bool is_pre = type != json.end() && *type == pre_norm.type;
  const Counterpart& like = is_pre ? pre_norm : post_norm;
  require_field(json, "model_type", like.type, like.network, config_json);
  for (const char* field : {"scale_embedding", "static_position_embeddings", "share_encoder_decoder_embeddings"}) {
    require_field(json, field, true, like.network, config_json);
  }
  for (const char* field : {"normalize_before", "add_final_layer_norm"}) {
    require_field(json, field, is_pre, like.network, config_json);
  }
  require_field(json, "normalize_embedding", false, like.network, config_json);
  TransformerSpec spec;
  spec.norm = is_pre ? NormPlace::pre : NormPlace::post;
  spec.layers = common_integer(json, "encoder_layers", "decoder_layers", config_json);
  spec.heads = common_integer(json, "encoder_attention_heads", "decoder_attention_heads", config_json);
  spec.intermediate = common_integer(json, "encoder_ffn_dim", "decoder_ffn_dim", config_json);
  spec.hidden = positive_integer(json, "d_model", config_json);
  spec.vocab_size = positive_integer(json, "vocab_size", config_json);
  const auto activation = json.find("activation_function");
  if (activation != json.end()) spec.activation = parse_activation(*activation, "activation_function", config_json);
  return spec;
}

}  // namespace

TransformerSpec transformer_spec(const Config& config, const DatasetInfo& data) {
  const std::filesystem::path config_json = find_architecture_file(config);
  TransformerSpec spec;
  if (config_json.empty()) {
    spec = transformer_of_size(enum_name(config.model.size));
    spec.vocab_size = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
    spec.norm = config.model.norm_first ? NormPlace::pre : NormPlace::post;
  } else {
    spec = transformer_from_config(config_json);
  }
  require_rows_for(data, spec.vocab_size, config);
  spec.max_length = data.max_length;
  spec.end_token = data.end_token;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.attention_dropout = static_cast<float>(config.model.attention_dropout);
  return spec;
}

std::vector<std::string> transformer_size_names() { return list_names<NamedTransformer>(transformer_sizes); }

std::string transformer_config_json(const TransformerSpec& spec) {
  const bool is_pre = spec.norm == NormPlace::pre;
  const Counterpart& like = is_pre ? pre_norm : post_norm;
  const nlohmann::json json = {{"architectures", {like.network}},
                               {"model_type", like.type},
                               {"is_encoder_decoder", true},
                               {"d_model", spec.hidden},
                               {"encoder_layers", spec.layers},
                               {"decoder_layers", spec.layers},
                               {"encoder_attention_heads", spec.heads},
                               {"decoder_attention_heads", spec.heads},
                               {"encoder_ffn_dim", spec.intermediate},
                               {"decoder_ffn_dim", spec.intermediate},
                               {"vocab_size", spec.vocab_size},
                               {"decoder_vocab_size", spec.vocab_size},
                               {"max_position_embeddings", spec.max_length},
                               {"eos_token_id", spec.end_token},
                               {"decoder_start_token_id", spec.end_token},
                               {"pad_token_id", spec.end_token},  // wherever the attention's mask is 0
                               {"forced_eos_token_id", nullptr},  // nothing follows a text at its limit
                               {"activation_function", name_of_activation(spec.activation)},
                               {"scale_embedding", true},
                               {"static_position_embeddings", true},
                               {"share_encoder_decoder_embeddings", true},
                               {"tie_word_embeddings", true},
                               {"normalize_before", is_pre},
                               {"normalize_embedding", false},
                               {"add_final_layer_norm", is_pre},
                               {"dropout", spec.dropout},
                               {"attention_dropout", spec.attention_dropout}};
  return json.dump(2) + "\n";
}

}  // namespace ptrain
