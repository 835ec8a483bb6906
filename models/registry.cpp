#include "models/registry.h"

#include "core/base/errors.h"
#include "core/config/choices.h"
#include "models/bert.h"
#include "models/resnet.h"

#include <charconv>

namespace ptrain {
namespace {

constexpr std::int64_t largest_small_image = 64;  // px; above it the ImageNet stem is the automatic choice

void require_kind(const Config& config, const DatasetInfo& data, DataKind kind) {
  if (data.kind == kind) return;
  fail_usage("data.source: {} reads {}, but data.source {} gives {}", config.model.name,
             kind == DataKind::image ? "images" : "text", choice_name(config.data.source),
             data.kind == DataKind::image ? "images" : "text");
}

std::unique_ptr<Model> make_resnet_model(const Config& config, const DatasetInfo& data) {
  require_kind(config, data, DataKind::image);
  ResNetSpec spec;
  const std::string_view depth = std::string_view(config.model.name).substr(6);
  std::from_chars(depth.data(), depth.data() + depth.size(), spec.depth);
  spec.classes = config.model.classes;
  spec.image_size = data.image_size;
  const bool small = config.model.stem == Stem::small ||
                     (config.model.stem == Stem::automatic && data.image_size <= largest_small_image);
  spec.stem = small ? ResNetStem::small : ResNetStem::imagenet;
  spec.label_smoothing = static_cast<float>(config.train.label_smoothing);
  spec.zero_init_residual = config.model.zero_init_residual;
  spec.mean = data.mean;
  spec.deviation = data.stddev;
  return make_resnet(spec);
}

/// The architecture of the weights where their config.json tells it, else what the configuration says.
BertSpec base_spec(const Config& config, const DatasetInfo& data) {
  const std::filesystem::path weights = config.model.weights;
  const std::filesystem::path beside = weights.parent_path() / "config.json";
  if (!weights.empty() && std::filesystem::exists(beside)) return bert_spec_from_config(beside);
  BertSpec spec = bert_spec_of_size(choice_name(config.model.size));
  spec.max_positions = config.model.max_positions;
  spec.vocab_size = std::max<std::int64_t>(config.model.vocab_size, data.vocab_size);
  return spec;
}

std::unique_ptr<Model> make_bert_model(const Config& config, const DatasetInfo& data) {
  require_kind(config, data, DataKind::text);
  BertSpec spec = base_spec(config, data);
  if (data.vocab_size > spec.vocab_size) {
    fail_usage("data.vocab: has {} entries, but the embedding table of {} has {} rows", data.vocab_size,
               config.model.weights.empty() ? config.model.name : config.model.weights, spec.vocab_size);
  }
  spec.classes = config.model.classes;
  spec.max_length = data.max_length;
  spec.layout = config.data.padding == Padding::none ? TextLayout::packed : TextLayout::padded;
  spec.dropout = static_cast<float>(config.model.dropout);
  spec.attention =
      config.model.attention == AttentionMode::flash ? AttentionAlgorithm::flash : AttentionAlgorithm::math;
  spec.gelu = config.model.gelu == GeluForm::erf ? Activation::gelu_erf : Activation::gelu_tanh;
  spec.label_smoothing = static_cast<float>(config.train.label_smoothing);
  return make_bert(spec);
}

}  // namespace

std::vector<std::string> model_names() {
  return {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "bert"};
}

std::unique_ptr<Model> make_model(const Config& config, const DatasetInfo& data) {
  if (data.classes > config.model.classes) {
    fail_usage("model.classes: is {}, but the data has {} classes", config.model.classes, data.classes);
  }
  if (config.model.name == "bert") return make_bert_model(config, data);
  if (config.model.name.starts_with("resnet")) return make_resnet_model(config, data);
  fail_usage("model.name: unknown model \"{}\"", config.model.name);
}

}  // namespace ptrain
