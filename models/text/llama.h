// Llama (Touvron et al. 2023) and its kin, which predict each token's next one: RMS norms before rotary attention with
// shared keys and a SwiGLU layer; variables have transformers' names. Qwen2 adds biases to query, key and value, Qwen3
// norms of each query's and key's head.
#pragma once

#include "core/config/config.h"
#include "core/config/config_enums.h"
#include "core/data/dataset.h"
#include "core/io/gguf.h"
#include "core/ops/text/rotary_embedding.h"
#include "models/text/text_blocks.h"

#include <filesystem>

namespace ptrain {

enum class LlamaForm { llama, qwen2, qwen3 };
template <>
struct EnumNames<LlamaForm> {
  static constexpr std::array<std::string_view, 3> names{"llama", "qwen2", "qwen3"};
};

struct LlamaSpec {
  LlamaForm form = LlamaForm::llama;
  std::int64_t layers = 30;
  std::int64_t hidden = 576;
  std::int64_t heads = 9;
  std::int64_t kv_heads = 3;
  std::int64_t head_dim = 64;
  std::int64_t intermediate = 1536;
  std::int64_t vocab_size = 49152;
  std::int64_t max_positions = 8192;
  bool tied = true;  // the head is the table of tokens
  float rms_norm_epsilon = 1e-5f;
  double rope_theta = 1e5;
  RotaryScaling rope_scaling = {};
  std::int64_t max_length = 1024;         // tokens per block
  Padding padding = Padding::max_length;  // none: sequences of a batch are packed
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
};

/// A published size of the form ("135m" is SmolLM2's, "1b" Llama 3.2's), "base" the smallest of them; "tiny", "mini"
/// and "small" have BERT's widths of these names. Throws Error{usage} naming the form's sizes.
LlamaSpec llama_spec_of_size(LlamaForm form, std::string_view size);
std::vector<std::string> llama_size_names(LlamaForm form);
/// From transformers' config.json. Throws Error{failed} naming the file and the field that is missing, wrong, or
/// belongs to another architecture.
LlamaSpec llama_spec_from_config(LlamaForm form, const std::filesystem::path& config_json);
/// From the metadata of a GGUF file. The factors of llama3's scaling, which it has as a tensor, are recognised. Throws
/// Error{failed} naming the file and the key that is missing, wrong, or belongs to another architecture.
LlamaSpec llama_spec_from_gguf(LlamaForm form, const GgufFile& file);
/// The spec for a configuration and data: the architecture of the weights if they are a GGUF file or have a
/// config.json. Throws Error{usage} when the data's vocabulary is larger than the embedding table.
LlamaSpec llama_spec(LlamaForm form, const Config& config, const DatasetInfo& data);
/// The spec as transformers' config.json.
std::string llama_config_json(const LlamaSpec& spec);

/// Throws Error{usage} when key heads do not divide the query heads, a head has an odd width, or max_length exceeds
/// max_positions.
std::unique_ptr<Model> make_llama(const LlamaSpec& spec);

}  // namespace ptrain
