#include "core/tasks/clicks/clicks.h"

#include "core/config/config.h"
#include "core/data/tensor_names.h"
#include "core/ops/binary_cross_entropy.h"

#include <fmt/format.h>

namespace ptrain {

void Clicks::check(const Config& config, const RejectKey& reject) const {
  if (config.data.class_weights.any())
    reject("data.class_weights", config.model.entry.name + " does not support class weights");
  if (config.model.classes == 0 || config.model.classes == 2) return;
  reject("model.classes", fmt::format("clicks have 2 classes, got {}", config.model.classes));
}

std::vector<Loss> Clicks::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId labels = graph.add_input(tensor_names::labels, {DType::i32, Shape{graph.desc(logits).shape[0]}});
  const auto op = std::make_shared<BinaryCrossEntropy>(options(mode).label_smoothing);
  return {{"cross_entropy", graph.add(tensor_names::loss, op, {logits, labels})}};
}

Batch Clicks::scores(Batch outputs) const {
  const HostTensor seconds = outputs.at(tensor_names::logits);
  HostTensor& both = outputs.add({tensor_names::logits, DType::f32, Shape{2}});
  for (std::int64_t row = 0; row < seconds.rows(); ++row) both.row<float>(row)[1] = seconds.row<float>(row)[0];
  return outputs;
}

}  // namespace ptrain
