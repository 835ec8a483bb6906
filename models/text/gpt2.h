// GPT-2 (Radford et al. 2019), which predicts each token's next one; variables have transformers' names.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/ops/activation.h"
#include "models/text/text_blocks.h"

#include <filesystem>

namespace ptrain {

struct Gpt2Spec {
  std::int64_t layers = 12;
  std::int64_t hidden = 768;
  std::int64_t heads = 12;
  std::int64_t intermediate = 3072;
  std::int64_t vocab_size = 50257;
  std::int64_t max_positions = 1024;
  float layer_norm_epsilon = 1e-5f;
  std::int64_t max_length = 1024;  // tokens per block
  float dropout = 0.1f;            // embeddings, attention weights and residual branches
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
  Activation activation = Activation::gelu_tanh;
};

/// "base" (124 million parameters), "medium" (355) and "large" (774) are GPT-2's; "tiny", "mini" and "small" have
/// BERT's widths of these names. Throws Error{usage} for another name.
Gpt2Spec gpt2_spec_of_size(std::string_view size);
std::vector<std::string> gpt2_size_names();
/// From transformers' config.json. Throws Error{failed} naming the file and the field that is missing, wrong, or
/// belongs to another architecture.
Gpt2Spec gpt2_spec_from_config(const std::filesystem::path& config_json);
/// The spec for a configuration and data: the architecture of the weights if they have a config.json. Throws
/// Error{usage} when the data's vocabulary is larger than the embedding table.
Gpt2Spec gpt2_spec(const Config& config, const DatasetInfo& data);
/// The spec as transformers' config.json of GPT2LMHeadModel.
std::string gpt2_config_json(const Gpt2Spec& spec);

/// Throws Error{usage} when heads do not divide the width, or max_length exceeds max_positions.
std::unique_ptr<Model> make_gpt2(const Gpt2Spec& spec);

}  // namespace ptrain
