// The Transformer (Vaswani et al., "Attention Is All You Need", 2017), which translates: an encoder of the source, and
// a decoder that predicts the translation's next token. Variables have the names of transformers' MarianMTModel.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/ops/activation.h"
#include "models/text/text_blocks.h"

#include <filesystem>

namespace ptrain {

/// Normalises after each residual sum, as published; or what each branch reads, and the outputs of both stacks.
enum class NormPlace { post, pre };

struct TransformerSpec {
  std::int64_t layers = 6;  // of the encoder, and of the decoder
  std::int64_t hidden = 512;
  std::int64_t heads = 8;
  std::int64_t intermediate = 2048;
  std::int64_t vocab_size = 32000;  // of both languages
  std::int64_t max_length = 128;    // tokens of a source, and of a translation
  std::int32_t end_token = 0;       // ends a text, and comes before a translation's first token
  float dropout = 0.1f;             // embeddings and residual branches
  float attention_dropout = 0;      // attention weights
  Activation activation = Activation::relu;
  NormPlace norm = NormPlace::post;
};

/// "base" (6 layers of 512 channels) and "large" (1024, the paper's "big") are the paper's; "tiny" (4 layers of 128)
/// and "small" (6 of 512, with 4 heads and 1024 channels between) are fairseq's transformer_tiny and
/// transformer_iwslt_de_en.
std::vector<std::string> transformer_size_names();
/// The spec for a configuration and data: the architecture of the weights if they have a config.json of MarianMTModel,
/// or of PegasusForConditionalGeneration, which is pre-norm. Throws Error{usage} for a size of another name, and when
/// the data's vocabulary is larger than the embedding table; Error{failed} naming config.json and the field that is
/// missing, wrong, or belongs to another architecture.
TransformerSpec transformer_spec(const Config& config, const DatasetInfo& data);
/// The spec as transformers' config.json of MarianMTModel or PegasusForConditionalGeneration.
std::string transformer_config_json(const TransformerSpec& spec);

/// Throws Error{usage} when heads do not divide the width.
std::unique_ptr<Model> make_transformer(const TransformerSpec& spec);

}  // namespace ptrain
