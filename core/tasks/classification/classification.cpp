#include "core/tasks/classification/classification.h"

#include "core/data/tensor_names.h"
#include "core/ops/softmax_cross_entropy.h"

namespace ptrain {

std::vector<Loss> Classification::add_losses(Graph& graph, Mode mode) const {
  const ValueId logits = require_output(graph, tensor_names::logits);
  const Shape shape = graph.desc(logits).shape;
  const Shape rows{shape[0]};
  const auto [smoothing, mixed, weighted] = options(mode);
  std::vector<ValueId> inputs{logits, graph.add_input(tensor_names::labels, {DType::i32, rows})};
  if (mixed || weighted) inputs.insert(inputs.end(), {no_value, no_value});
  if (mixed) {
    inputs[SoftmaxCrossEntropy::other_labels] = graph.add_input(tensor_names::other_labels, {DType::i32, rows});
    inputs[SoftmaxCrossEntropy::own_share] = graph.add_input(tensor_names::own_share, {DType::f32, Shape{1}});
  }
  if (weighted) inputs.push_back(graph.add_input(tensor_names::class_weights, {DType::f32, Shape{shape[-1]}}));
  const auto op = std::make_shared<SoftmaxCrossEntropy>(smoothing);
  return {{"cross_entropy", graph.add(tensor_names::loss, op, std::move(inputs))}};
}

std::vector<MetricInfo> Classification::metrics(std::int64_t classes) const {
  return ClassificationMetrics::infos(classes, order());
}

std::unique_ptr<Metrics> Classification::make_metrics(std::int64_t classes,
                                                      const std::vector<std::string>& names) const {
  return std::make_unique<ClassificationMetrics>(classes, names, order());
}

}  // namespace ptrain
