// BERT (Devlin et al. 2019), tiny to large, DistilBERT (Sanh et al. 2019), RoBERTa (Liu et al. 2019) and ERNIE 3.0 (Sun
// et al. 2021) for sequence classification.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/ops/activation.h"
#include "core/ops/text/attention.h"
#include "models/text/text_blocks.h"

#include <filesystem>

namespace ptrain {

enum class BertForm {
  bert,
  distilbert,  // no token types, and relu in place of tanh before the classifier
  roberta,     // BERT's; positions begin at row 2, one token type, a head of two dense layers with dropout before each
  ernie,       // BERT's; the embedding of a file's first task is added to the token types'
};

inline constexpr std::int64_t roberta_first_position = 2;

struct BertSpec {
  BertForm form = BertForm::bert;
  std::int64_t layers = 12;
  std::int64_t hidden = 768;
  std::int64_t heads = 12;
  std::int64_t intermediate = 3072;
  std::int64_t vocab_size = 30522;
  std::int64_t max_positions = 512;
  std::int64_t token_types = 2;
  float layer_norm_epsilon = 1e-12f;
  bool has_value = false;                // regression instead of classes
  std::int64_t classes = 2;              // 1 for a regression
  std::vector<std::string> labels = {};  // names of the classes; empty if there are none
  std::int64_t max_length = 128;         // tokens per sequence
  Padding padding = Padding::max_length;
  float dropout = 0.1f;  // hidden states and attention weights
  AttentionAlgorithm attention = AttentionAlgorithm::flash;
  Activation activation = Activation::gelu_erf;
};

/// Layers, width and heads of "tiny", "mini", "small", "medium", "base" or "large" (Turc et al. 2019).
/// Throws Error{usage} for another name.
BertSpec bert_spec_of_size(std::string_view size);
std::vector<std::string> bert_size_names();
/// The base size of a form.
BertSpec base_spec(BertForm form);
/// The same from transformers' config.json of that form. Throws Error{failed} naming the file and the field that is
/// missing or wrong.
BertSpec bert_spec_from_config(const std::filesystem::path& config_json, BertForm form = BertForm::bert);
/// The spec for a configuration and data: the architecture of the weights if they have a config.json. Throws
/// Error{usage} when the data's vocabulary is larger than the embedding table.
BertSpec bert_spec(BertForm form, const Config& config, const DatasetInfo& data);
/// The spec as transformers' config.json of the form's class for sequence classification.
std::string bert_config_json(const BertSpec& spec);

/// Throws Error{usage} when heads do not divide the width, or max_length exceeds max_positions.
std::unique_ptr<Model> make_bert(const BertSpec& spec);

}  // namespace ptrain
