#include "core/tasks/clicks/clicks.h"

#include "core/data/tensor_names.h"
#include "core/ops/binary_cross_entropy.h"

namespace ptrain {

std::vector<Loss> Clicks::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const ValueId labels = graph.add_input(tensor_names::labels, {DType::i32, Shape{graph.desc(logits).shape[0]}});
  const auto op = std::make_shared<BinaryCrossEntropy>(options(mode).label_smoothing);
  return {{"cross_entropy", graph.add(tensor_names::loss, op, {logits, labels})}};
}

std::vector<float> Clicks::to_scores(std::vector<float> logits, std::int64_t per_row) const {
  return class_logits(std::move(logits), per_row);
}

}  // namespace ptrain
