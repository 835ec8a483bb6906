#include "core/passes/fuse_gradient_sums.h"

#include "core/ops/elementwise.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/passes/rewriter.h"

#include <map>
#include <set>

namespace ptrain {
namespace {

/// The sum whose only reader is `node`, the gradient of a norm with a residual; null: there is none.
const Node* sum_for(const Node& node, const Graph& graph, const std::vector<int>& readers) {
  const auto* gradient = dynamic_cast<const BatchNormGrad*>(node.op.get());
  if (gradient == nullptr || !gradient->attrs().residual) return nullptr;
  const Node* sum = sole_producer(graph, readers, node.inputs[BatchNormGrad::dy]);
  return sum != nullptr && dynamic_cast<const Add*>(sum->op.get()) != nullptr ? sum : nullptr;
}

}  // namespace

Differentiated fuse_gradient_sums(const Differentiated& differentiated) {
  const Graph& graph = differentiated.graph;
  const std::vector<int> readers = count_readers(differentiated);
  std::map<const Node*, const Node*> sums;  // by their reader
  std::set<const Node*> taken;
  for (const Node& node : graph.nodes()) {
    const Node* sum = sum_for(node, graph, readers);
    if (sum != nullptr) taken.insert(sums[&node] = sum);
  }

  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (taken.contains(&node)) continue;
    std::vector<ValueId> inputs = rewriter.mapped(node.inputs);
    if (const auto sum = sums.find(&node); sum != sums.end()) {
      inputs[BatchNormGrad::dy] = rewriter.mapped(sum->second->inputs[Add::a]);
      inputs.push_back(rewriter.mapped(sum->second->inputs[Add::b]));
    }
    rewriter.copy(node, std::move(inputs));
  }
  return rewriter.finish(differentiated.gradients);
}

}  // namespace ptrain
