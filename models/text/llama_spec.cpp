// Sizes of Llama and its kin: the published ones by name, any other from transformers' config.json.
#include "core/base/errors.h"
#include "core/io/weights_file.h"
#include "models/text/architecture_file.h"
#include "models/text/llama.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {
namespace {

struct LlamaSize {
  std::string_view name;
  std::int64_t layers, hidden, heads, kv_heads, head_dim, intermediate;
  bool tied;
  double rope_theta;
  double rope_factor;  // of llama3's scaling from 8192 positions; 1: none
  std::int64_t max_positions;
};

constexpr LlamaSize small_size(std::string_view name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  return {name, layers, hidden, heads, heads / 2, hidden / heads, 3 * hidden, true, 1e4, 1, 8192};
}

constexpr std::array small_sizes{small_size("tiny", 2, 128, 2), small_size("mini", 4, 256, 4),
                                 small_size("small", 4, 512, 8)};
// SmolLM2 of 135, 360 and 1,700 million parameters, Llama 3.2 of 1 and 3 billion, Llama 3.1 of 8.
constexpr std::array llama_sizes{LlamaSize{"135m", 30, 576, 9, 3, 64, 1536, true, 1e5, 1, 8192},
                                 LlamaSize{"360m", 32, 960, 15, 5, 64, 2560, true, 1e5, 1, 8192},
                                 LlamaSize{"1.7b", 24, 2048, 32, 32, 64, 8192, true, 1.3e5, 1, 8192},
                                 LlamaSize{"1b", 16, 2048, 32, 8, 64, 8192, true, 5e5, 32, 131072},
                                 LlamaSize{"3b", 28, 3072, 24, 8, 128, 8192, true, 5e5, 32, 131072},
                                 LlamaSize{"8b", 32, 4096, 32, 8, 128, 14336, false, 5e5, 8, 131072}};
// Qwen2.5.
constexpr std::array qwen2_sizes{LlamaSize{"0.5b", 24, 896, 14, 2, 64, 4864, true, 1e6, 1, 32768},
                                 LlamaSize{"1.5b", 28, 1536, 12, 2, 128, 8960, true, 1e6, 1, 32768}};
constexpr std::array qwen3_sizes{LlamaSize{"0.6b", 28, 1024, 16, 8, 128, 3072, true, 1e6, 1, 40960},
                                 LlamaSize{"1.7b", 28, 2048, 16, 8, 128, 6144, true, 1e6, 1, 40960},
                                 LlamaSize{"8b", 36, 4096, 32, 8, 128, 12288, false, 1e6, 1, 40960}};

constexpr std::string_view base = "base";  // the smallest published size

std::span<const LlamaSize> published_sizes(LlamaForm form) {
  switch (form) {
    case LlamaForm::llama:
      return llama_sizes;
    case LlamaForm::qwen2:
      return qwen2_sizes;
    case LlamaForm::qwen3:
      return qwen3_sizes;
  }
  return {};
}

constexpr float epsilon_of(LlamaForm form) { return form == LlamaForm::llama ? 1e-5f : 1e-6f; }

/// The class that transformers loads such weights with.
std::string_view architecture(LlamaForm form) {
  constexpr std::array<std::string_view, 3> names{"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"};
  return names[static_cast<std::size_t>(form)];
}

LlamaSpec make_spec(LlamaForm form, const LlamaSize& size) {
  LlamaSpec spec;
  spec.form = form;
  spec.layers = size.layers;
  spec.hidden = size.hidden;
  spec.heads = size.heads;
  spec.kv_heads = size.kv_heads;
  spec.head_dim = size.head_dim;
  spec.intermediate = size.intermediate;
  spec.tied = size.tied;
  spec.rms_norm_epsilon = epsilon_of(form);
  spec.rope_theta = size.rope_theta;
  if (size.rope_factor > 1) spec.rope_scaling = {RotaryScaling::Kind::llama3, size.rope_factor, 1, 4, 8192};
  spec.max_positions = size.max_positions;
  return spec;
}

/// `rope`: rope_scaling, or rope_parameters as transformers 5 writes it, which has the base too.
RotaryScaling read_scaling(const nlohmann::json& rope, const std::filesystem::path& file) {
  const auto type = rope.contains("rope_type") ? rope.find("rope_type") : rope.find("type");
  if (type == rope.end() || *type == "default") return {};
  RotaryScaling scaling;
  scaling.factor = number_or(rope, "factor", 1, file);
  if (*type == "linear") {
    scaling.kind = RotaryScaling::Kind::linear;
  } else if (*type == "llama3") {
    scaling.kind = RotaryScaling::Kind::llama3;
    scaling.low_frequency_factor = number_or(rope, "low_freq_factor", 1, file);
    scaling.high_frequency_factor = number_or(rope, "high_freq_factor", 4, file);
    scaling.original_length = positive_integer(rope, "original_max_position_embeddings", file);
  } else {
    fail("{}: rope_type: {}: expected default, linear or llama3", file.string(), type->dump());
  }
  if (!(scaling.factor > 0) || !(scaling.high_frequency_factor > scaling.low_frequency_factor)) {
    fail("{}: rope_scaling: expected a factor above 0, and a high_freq_factor above the low one", file.string());
  }
  return scaling;
}

const NamedTensor* find_tensor(const GgufFile& file, std::string_view name) {
  for (const NamedTensor& tensor : file.tensors()) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

/// The llama3 scaling from 8192 positions whose frequencies are those of `plain` divided by `factors`.
RotaryScaling recognise_llama3(const RotaryAttributes& plain, const std::vector<float>& factors, const GgufFile& file) {
  RotaryAttributes scaled = plain;
  const double factor = factors.empty() ? 1 : *std::max_element(factors.begin(), factors.end());
  scaled.scaling = {RotaryScaling::Kind::llama3, factor, 1, 4, 8192};
  const std::vector<float> before = rotary_frequencies(plain), after = rotary_frequencies(scaled);
  bool same = factors.size() == before.size();
  for (std::size_t i = 0; same && i < factors.size(); ++i) {
    same = std::abs(after[i] * factors[i] - before[i]) <= 1e-5f * before[i];
  }
  if (!same) fail("{}: rope_freqs.weight: expected the factors of llama3's scaling from 8192 positions", file.path());
  return scaled.scaling;
}

RotaryScaling read_scaling(const RotaryAttributes& plain, const GgufFile& file) {
  if (const NamedTensor* factors = find_tensor(file, "rope_freqs.weight")) {
    return recognise_llama3(plain, to_floats(*factors), file);
  }
  const auto type = file.metadata().find(file.architecture() + ".rope.scaling.type");
  const bool has_type = type != file.metadata().end();
  if (has_type && type->second == "none") return {};
  if (has_type && type->second != "linear") fail("{}: {}: expected none or linear", file.path(), type->first);
  // Without a type, a factor is linear, as in llama.cpp; scale_linear is its older name.
  const double factor = has_type ? file.number("rope.scaling.factor")
                                 : file.number("rope.scaling.factor", file.number("rope.scale_linear", 1));
  if (!(factor > 0)) fail("{}: rope.scaling.factor: expected a number above 0", file.path());
  if (factor == 1) return {};
  RotaryScaling scaling;
  scaling.kind = RotaryScaling::Kind::linear;
  scaling.factor = factor;
  return scaling;
}

/// Keys that change what a network computes, and that no form here has.
void refuse_other_networks(const GgufFile& file) {
  struct Key {
    std::string_view name;
    nlohmann::json neutral;  // what it may be, besides 0
  };
  const std::array<Key, 14> keys{{{"expert_count", 0},
                                  {"attention.clamp_kqv", 0},
                                  {"attention.max_alibi_bias", 0},
                                  {"attn_logit_softcapping", 0},
                                  {"final_logit_softcapping", 0},
                                  {"attention.causal", true},
                                  {"use_parallel_residual", false},
                                  {"logit_scale", 1},
                                  {"embedding_scale", 1},
                                  {"residual_scale", 1},
                                  {"attention.scale", 0},
                                  {"rope.scaling.attn_factor", 1},
                                  {"rope.scaling.yarn_log_multiplier", 0},
                                  {"swin_norm", false}}};
  for (const auto& [name, neutral] : keys) {
    const auto found = file.metadata().find(fmt::format("{}.{}", file.architecture(), name));
    if (found == file.metadata().end()) continue;
    const nlohmann::json& value = found->second;
    const bool is_unset = value.is_number() && value == 0;
    if (value == neutral || (neutral.is_boolean() ? value.is_number() && value == (neutral ? 1 : 0) : is_unset))
      continue;
    fail("{}: {}: {} is not supported; expected {}", file.path(), found->first, value.dump(), neutral.dump());
  }
  const double window = file.number("attention.sliding_window", 0);
  if (window > 0 && window < file.number("context_length")) {
    fail("{}: {}.attention.sliding_window: {} is not supported; expected 0, or the context_length", file.path(),
         file.architecture(), window);
  }
}

/// Nothing finite comes of other epsilons and bases of rotation.
double require_positive(double value, const std::string& file, std::string_view field) {
  if (value > 0 && std::isfinite(value)) return value;
  fail("{}: {}: expected a number above 0, got {}", file, field, value);
}

/// A damaged number would build layers for hours.
std::int64_t read_layers(const GgufFile& file) {
  const std::int64_t layers = file.positive_integer("block_count");
  const std::string last = fmt::format("blk.{}.", layers - 1);
  if (std::ranges::none_of(file.tensors(), [&](const NamedTensor& tensor) { return tensor.name.starts_with(last); })) {
    fail("{}: {}.block_count: is {}, but the file has no tensor {}*", file.path(), file.architecture(), layers, last);
  }
  return layers;
}

nlohmann::json scaling_json(const RotaryScaling& scaling) {
  switch (scaling.kind) {
    case RotaryScaling::Kind::none:
      return nullptr;
    case RotaryScaling::Kind::linear:
      return {{"rope_type", "linear"}, {"factor", scaling.factor}};
    case RotaryScaling::Kind::llama3:
      return {{"rope_type", "llama3"},
              {"factor", scaling.factor},
              {"low_freq_factor", scaling.low_frequency_factor},
              {"high_freq_factor", scaling.high_frequency_factor},
              {"original_max_position_embeddings", scaling.original_length}};
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> llama_size_names(LlamaForm form) {
  std::vector<std::string> names = list_names<LlamaSize>(small_sizes);
  names.emplace_back(base);
  for (std::string& name : list_names(published_sizes(form))) names.push_back(std::move(name));
  return names;
}

LlamaSpec llama_spec_of_size(LlamaForm form, std::string_view size) {
  const std::span<const LlamaSize> published = published_sizes(form);
  if (size == base) return make_spec(form, published.front());
  for (const std::span<const LlamaSize> sizes : {std::span<const LlamaSize>(small_sizes), published}) {
    for (const LlamaSize& candidate : sizes) {
      if (candidate.name == size) return make_spec(form, candidate);
    }
  }
  fail_size(size, llama_size_names(form));
}

LlamaSpec llama_spec_from_config(LlamaForm form, const std::filesystem::path& config_json) {
  const nlohmann::json json = read_architecture(config_json);
  const std::string_view model = enum_name(form);
  require_field(json, "model_type", model, model, config_json);
  require_field(json, "hidden_act", "silu", model, config_json);
  require_field(json, "mlp_bias", false, model, config_json);
  require_field(json, "attention_bias", form == LlamaForm::qwen2, model, config_json);
  require_field(json, "use_sliding_window", false, model, config_json);
  require_field(json, "partial_rotary_factor", 1.0, model, config_json);
  LlamaSpec spec;
  spec.form = form;
  spec.layers = read_layers(json, "num_hidden_layers", config_json);
  spec.hidden = positive_integer(json, "hidden_size", config_json);
  spec.heads = positive_integer(json, "num_attention_heads", config_json);
  const auto given = [&](const char* field) { return json.contains(field) && !json.at(field).is_null(); };
  const auto integer_or = [&](const char* field, std::int64_t otherwise) {
    return given(field) ? positive_integer(json, field, config_json) : otherwise;
  };
  spec.kv_heads = integer_or("num_key_value_heads", spec.heads);
  spec.head_dim = integer_or("head_dim", form == LlamaForm::qwen3 ? 128 : spec.hidden / spec.heads);
  spec.intermediate = positive_integer(json, "intermediate_size", config_json);
  spec.vocab_size = positive_integer(json, "vocab_size", config_json);
  spec.max_positions = positive_integer(json, "max_position_embeddings", config_json);
  spec.rms_norm_epsilon = static_cast<float>(
      require_positive(number_or(json, "rms_norm_eps", 1e-6, config_json), config_json.string(), "rms_norm_eps"));
  spec.tied = boolean_or(json, "tie_word_embeddings", false, config_json);
  const nlohmann::json rope = given("rope_parameters") ? json.at("rope_parameters")
                              : given("rope_scaling")  ? json.at("rope_scaling")
                                                       : nlohmann::json::object();
  if (!rope.is_object()) fail("{}: rope_scaling: expected an object", config_json.string());
  require_field(rope, "partial_rotary_factor", 1.0, model, config_json);
  spec.rope_theta =
      require_positive(number_or(rope, "rope_theta", number_or(json, "rope_theta", 10000, config_json), config_json),
                       config_json.string(), "rope_theta");
  spec.rope_scaling = read_scaling(rope, config_json);
  return spec;
}

LlamaSpec llama_spec_from_gguf(LlamaForm form, const GgufFile& file) {
  if (file.architecture() != enum_name(form)) {
    fail("{}: general.architecture: expected {}, got {}: weights of another network", file.path(), enum_name(form),
         file.architecture());
  }
  const auto positive = [&](const char* key, std::optional<double> otherwise) {
    return require_positive(file.number(key, otherwise), file.path(), fmt::format("{}.{}", file.architecture(), key));
  };
  LlamaSpec spec;
  spec.form = form;
  refuse_other_networks(file);
  spec.layers = read_layers(file);
  spec.hidden = file.positive_integer("embedding_length");
  spec.heads = file.positive_integer("attention.head_count");
  spec.kv_heads = file.positive_integer("attention.head_count_kv", spec.heads);
  spec.head_dim = file.positive_integer("attention.key_length", std::max<std::int64_t>(spec.hidden / spec.heads, 1));
  spec.intermediate = file.positive_integer("feed_forward_length");
  spec.max_positions = file.positive_integer("context_length");
  spec.rms_norm_epsilon = static_cast<float>(positive("attention.layer_norm_rms_epsilon", {}));
  const NamedTensor* const tokens = find_tensor(file, "token_embd.weight");
  if (tokens == nullptr) fail("{}: has no tensor token_embd.weight", file.path());
  spec.vocab_size = tokens->shape[0];
  spec.tied = find_tensor(file, "output.weight") == nullptr;
  if (file.positive_integer("rope.dimension_count", spec.head_dim) != spec.head_dim || spec.head_dim % 2 != 0 ||
      spec.head_dim > 512) {
    fail("{}: rope.dimension_count: expected the width of a head, {}, even and at most 512", file.path(),
         spec.head_dim);
  }
  spec.rope_theta = positive("rope.freq_base", 10000);
  spec.rope_scaling = read_scaling({spec.head_dim, spec.rope_theta, {}}, file);
  return spec;
}

namespace {

LlamaSpec llama_architecture(LlamaForm form, const Config& config, const DatasetInfo& data) {
  if (const std::filesystem::path weights = find_weights_file(config.model.weights); weights.extension() == ".gguf") {
    return llama_spec_from_gguf(form, GgufFile(weights));
  }
  const std::filesystem::path config_json = find_architecture_file(config);
  if (!config_json.empty()) return llama_spec_from_config(form, config_json);
  LlamaSpec spec = llama_spec_of_size(form, enum_name(config.model.size));
  spec.vocab_size = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  return spec;
}

}  // namespace

LlamaSpec llama_spec(LlamaForm form, const Config& config, const DatasetInfo& data) {
  LlamaSpec spec = llama_architecture(form, config, data);
  require_rows_for(data, spec.vocab_size, config);
  spec.max_length = data.max_length;
  spec.padding = config.data.padding;
  spec.attention = config.model.attention;
  return spec;
}

std::string llama_config_json(const LlamaSpec& spec) {
  const nlohmann::json json = {{"architectures", {architecture(spec.form)}},
                               {"model_type", enum_name(spec.form)},
                               {"num_hidden_layers", spec.layers},
                               {"hidden_size", spec.hidden},
                               {"num_attention_heads", spec.heads},
                               {"num_key_value_heads", spec.kv_heads},
                               {"head_dim", spec.head_dim},
                               {"intermediate_size", spec.intermediate},
                               {"hidden_act", "silu"},
                               {"vocab_size", spec.vocab_size},
                               {"max_position_embeddings", spec.max_positions},
                               {"rms_norm_eps", spec.rms_norm_epsilon},
                               {"rope_theta", spec.rope_theta},
                               {"rope_scaling", scaling_json(spec.rope_scaling)},
                               {"tie_word_embeddings", spec.tied}};
  return json.dump(2) + "\n";
}

}  // namespace ptrain
