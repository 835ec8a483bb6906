#include "core/passes/fuse_output_layer.h"

#include "core/base/errors.h"
#include "core/ops/linear.h"
#include "core/ops/linear_cross_entropy.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <map>
#include <set>

namespace ptrain {
namespace {

constexpr std::int64_t fewest_logits = (std::int64_t{16} << 20) / static_cast<std::int64_t>(sizeof(float));

/// Whether chunks take less memory: the other rows' logits and, where sums of the weights' gradient stand beside it,
/// the logits' gradients, against those sums.
bool save_memory(const Graph& graph, const Node& layer, std::int64_t rows, const SumsApart& sums_apart) {
  const Value& weights = graph.value(layer.inputs[Linear::w]);
  if (!sums_apart || weights.storage != Storage::parameter || !sums_apart(weights.name)) return true;
  constexpr std::int64_t logit = sizeof(float), gradient = 2, sum = sizeof(float);
  return (rows - choose_chunk_rows(rows)) * (logit + gradient) > weights.desc.shape[-1] * sum;
}

/// The layer whose logits the loss of plain labels reads alone, if they are worth chunks; else null.
const Node* find_output_layer(const Graph& graph, const std::vector<int>& readers, const Node& loss,
                              const SumsApart& sums_apart) {
  if (loss.op->type() != "softmax_cross_entropy" || loss.inputs.size() != SoftmaxCrossEntropy::mixup_labels)
    return nullptr;
  if (readers[static_cast<std::size_t>(loss.outputs[1])] != 0) return nullptr;
  const ValueId logits = loss.inputs[SoftmaxCrossEntropy::logits];
  const Node* layer = sole_producer(graph, readers, logits);
  if (layer == nullptr || layer->op->type() != "linear" || layer->inputs.size() > Linear::bias) return nullptr;
  if (static_cast<const Linear&>(*layer->op).attrs().activation != Activation::none) return nullptr;
  const TensorDesc& desc = graph.desc(logits);
  const std::int64_t rows = desc.count() / desc.shape[-1];
  const bool is_large = desc.count() >= fewest_logits && choose_chunk_rows(rows) < rows;
  return is_large && save_memory(graph, *layer, rows, sums_apart) ? layer : nullptr;
}

/// By node: whether it depends on `value`.
std::vector<bool> find_dependents(const Graph& graph, ValueId value) {
  std::vector<bool> values(graph.values().size(), false), nodes;
  values[static_cast<std::size_t>(value)] = true;
  for (const Node& node : graph.nodes()) {
    nodes.push_back(std::any_of(node.inputs.begin(), node.inputs.end(),
                                [&](ValueId id) { return id != no_value && values[static_cast<std::size_t>(id)]; }));
    if (!nodes.back()) continue;
    for (const ValueId id : node.outputs) values[static_cast<std::size_t>(id)] = true;
  }
  return nodes;
}

/// The gradient of that loss, unless it depends on the loss; null: there is none.
const Node* find_joinable_gradient(const Graph& graph, const Node& loss, const std::vector<bool>& dependents) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const bool is_gradient = node.op->type() == "linear_cross_entropy_grad" &&
                             std::equal(loss.inputs.begin(), loss.inputs.end(), node.inputs.begin());
    if (is_gradient && !dependents[i]) return &node;
  }
  return nullptr;
}

}  // namespace

Graph fuse_output_layer(const Graph& graph, const SumsApart& sums_apart) {
  const std::vector<int> readers = count_readers(graph);
  std::map<const Node*, const Node*> layers;  // by their loss
  std::set<const Node*> fused;
  for (const Node& node : graph.nodes()) {
    if (const Node* layer = find_output_layer(graph, readers, node, sums_apart)) fused.insert(layers[&node] = layer);
  }
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (fused.contains(&node)) continue;
    const auto found = layers.find(&node);
    if (found == layers.end()) {
      rewriter.copy(node);
      continue;
    }
    const Node& layer = *found->second;
    const TensorDesc& x = graph.desc(layer.inputs[Linear::x]);
    const LinearCrossEntropyAttributes attributes{static_cast<const SoftmaxCrossEntropy&>(*node.op).label_smoothing(),
                                                  choose_chunk_rows(x.count() / x.shape[-1])};
    const std::vector<ValueId> inputs = rewriter.mapped(std::vector<ValueId>{
        layer.inputs[Linear::x], layer.inputs[Linear::w], node.inputs[SoftmaxCrossEntropy::labels]});
    const auto op = std::make_shared<LinearCrossEntropy>(attributes);
    rewriter.map(node.outputs[0], rewriter.graph().add_node(node.name, op, inputs, node.phase).front());
  }
  return rewriter.finish();
}

Differentiated join_loss_with_gradient(const Differentiated& differentiated) {
  const Graph& graph = differentiated.graph;
  const std::vector<Node>& nodes = graph.nodes();
  const auto loss = std::find_if(nodes.begin(), nodes.end(),
                                 [](const Node& node) { return node.op->type() == "linear_cross_entropy"; });
  if (loss == nodes.end()) return differentiated;
  const ValueId value = loss->outputs[LinearCrossEntropy::loss];
  const std::vector<bool> dependents = find_dependents(graph, value);
  const Node* gradient = find_joinable_gradient(graph, *loss, dependents);
  if (gradient == nullptr) return differentiated;

  Rewriter rewriter(graph);
  std::vector<Node> waiting;  // for the loss
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (&node == &*loss) continue;
    if (dependents[i] && &node < gradient) {
      waiting.push_back(node);
      waiting.back().phase = std::max(node.phase, Pass::backward);
      continue;
    }
    rewriter.copy(node);
    if (&node != gradient) continue;
    rewriter.map(value, rewriter.mapped(node.outputs[LinearCrossEntropyGrad::loss]));
    for (const Node& reader : waiting) rewriter.copy(reader);
  }
  return rewriter.finish(differentiated.gradients);
}

}  // namespace ptrain
