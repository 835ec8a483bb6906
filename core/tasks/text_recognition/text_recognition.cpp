#include "core/tasks/text_recognition/text_recognition.h"

#include "core/config/config.h"
#include "core/ops/sequence/ctc_loss.h"
#include "core/tasks/text_recognition/ctc_decoding.h"
#include "core/tasks/text_recognition/text_recognition_metrics.h"

#include <fmt/format.h>

namespace ptrain {

void TextRecognition::check(const Config& config, const RejectKey& reject) const {
  constexpr const char* reason = "is for images with one class each, here they have a text";
  if (config.model.classes == 1) {
    reject("model.classes", "expected at least 2, a blank and a character, or 0 to take the data's, got 1");
  }
  reject_class_keys(config.data, reject, reason);
  if (config.train.mixup > 0) reject("train.mixup", reason);
  if (config.train.cutmix > 0) reject("train.cutmix", reason);
  if (config.train.label_smoothing > 0) reject("train.label_smoothing", reason);
  if (config.data.trivial_augment) reject("data.trivial_augment", "mirrors and turns texts");
  if (config.data.random_erasing > 0) reject("data.random_erasing", "erases characters of texts");
  if (config.eval.flip) reject("eval.flip", "is not possible: a mirrored text is another one");
}

std::vector<Loss> TextRecognition::add_losses(Graph& graph, Mode /*mode*/) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId characters = graph.find_value(tensor_names::characters);
  return {{"ctc", graph.add(tensor_names::loss, std::make_shared<CtcLoss>(CtcLossAttributes{blank_class}),
                            {logits, characters})}};
}

std::vector<MetricInfo> TextRecognition::metrics(std::int64_t /*classes*/) const {
  return TextRecognitionMetrics::infos();
}

std::unique_ptr<Metrics> TextRecognition::make_metrics(std::int64_t /*classes*/,
                                                       const std::vector<std::string>& /*names*/) const {
  return std::make_unique<TextRecognitionMetrics>();
}

std::vector<std::string> TextRecognition::columns(const PredictionOptions& /*form*/) const {
  return {"text", "probability"};
}

namespace {

std::string spell(std::span<const std::int32_t> characters, const std::vector<std::string>& names) {
  std::string text;
  for (const std::int32_t one : characters) text += names.at(static_cast<std::size_t>(one));
  return text;
}

}  // namespace

std::vector<Prediction> TextRecognition::predictions(const Batch& batch, const Batch& scores,
                                                     const PredictionOptions& form) const {
  const HostTensor& logits = scores.at(tensor_names::logits);
  const HostTensor* const labels = batch.find(tensor_names::characters);
  std::vector<Prediction> all;
  for (std::int64_t row = 0; row < batch.count; ++row) {
    const RecognizedText read = decode_greedily(logits.row<float>(row), logits.shape()[-1]);
    const std::string text = spell(read.characters, form.class_names);
    Prediction& made = all.emplace_back();
    made.index = index_of_row(batch, row);
    made.answer = text;
    made.probability = read.probability;
    made.details = {{"text", text}, {"probability", read.probability}};
    made.text = fmt::format("{} {:.4f}", text, read.probability);
    made.cells = {text, fmt::format("{:.6g}", read.probability)};
    if (labels == nullptr) continue;
    const auto label = trim_characters(labels->row<std::int32_t>(row));
    if (label.empty()) continue;
    made.label = spell(label, form.class_names);
    made.error = compute_edit_distance(read.characters, label);
  }
  return all;
}

}  // namespace ptrain
