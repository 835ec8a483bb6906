#include "core/passes/pointwise/fuse_pointwise.h"

#include "core/ops/tensor/pointwise_chain.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <map>
#include <set>

namespace ptrain {
namespace {

/// Nodes to fuse into one, in graph order, and the outside values that they read.
struct Group {
  std::vector<const Node*> nodes;
  std::vector<ValueId> inputs;
};

class PointwiseFuser {
 public:
  PointwiseFuser(const Graph& graph, std::vector<int> readers) : graph_(graph), readers_(std::move(readers)) {
    for (std::size_t i = graph.nodes().size(); i-- > 0;) {
      const Node& node = graph.nodes()[i];
      if (!swallowed_.contains(&node) && is_pointwise_step(*node.op)) start_group(node);
    }
  }

  bool found_nothing() const { return groups_.empty(); }

  /// Copies the graph into `rewriter`; each group becomes one node in the place of its last.
  void rewrite(Rewriter& rewriter) const {
    for (const Node& node : graph_.nodes()) {
      if (swallowed_.contains(&node)) continue;
      const auto group = groups_.find(&node);
      if (group == groups_.end()) {
        rewriter.copy(node);
        continue;
      }
      const ValueId y =
          rewriter.graph().add(node.name, make_chain(group->second), rewriter.mapped(group->second.inputs), node.phase);
      rewriter.map(node.outputs.front(), y);
    }
  }

 private:
  /// Grows a group backward from `last`, nearest nodes first.
  void start_group(const Node& last) {
    std::vector<const Node*> nodes{&last};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const ValueId id : nodes[i]->inputs) {
        const Node* before = sole_producer(graph_, readers_, id);
        if (before == nullptr || !can_join(*before, last)) continue;
        nodes.push_back(before);
        if (nodes.size() > PointwiseChain::most_steps || collect_inputs(nodes).size() > PointwiseChain::most_inputs) {
          nodes.pop_back();
        }
      }
    }
    if (nodes.size() == 1) return;
    std::sort(nodes.begin(), nodes.end());  // in graph order
    swallowed_.insert(nodes.begin(), nodes.end() - 1);
    groups_[&last] = {nodes, collect_inputs(nodes)};
  }

  bool can_join(const Node& node, const Node& last) const {
    if (!is_pointwise_step(*node.op) || node.phase != last.phase || node.phase == Pass::update) return false;
    if (graph_.desc(node.outputs.front()) != graph_.desc(last.outputs.front())) return false;
    if (graph_.value(node.outputs.front()).base != no_value) return false;
    // A value that is written in place may have changed by the time the last node reads it.
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id == no_value || graph_.value(graph_.root(id)).storage != Storage::state;
    });
  }

  /// The distinct values that `nodes` read and do not compute.
  static std::vector<ValueId> collect_inputs(const std::vector<const Node*>& nodes) {
    std::vector<ValueId> inputs;
    for (const Node* node : nodes) {
      for (const ValueId id : node->inputs) {
        const bool made =
            std::any_of(nodes.begin(), nodes.end(), [id](const Node* other) { return other->outputs.front() == id; });
        if (id != no_value && !made && std::find(inputs.begin(), inputs.end(), id) == inputs.end())
          inputs.push_back(id);
      }
    }
    return inputs;
  }

  static OpPtr make_chain(const Group& group) {
    PointwiseChainAttributes chain{static_cast<int>(group.inputs.size()), {}};
    std::map<ValueId, int> places{{no_value, -1}};
    for (const ValueId id : group.inputs) places.emplace(id, static_cast<int>(places.size()) - 1);
    for (const Node* node : group.nodes) {
      PointwiseStep step{node->op};
      for (std::size_t i = 0; i < node->inputs.size(); ++i) step.operands[i] = places.at(node->inputs[i]);
      chain.steps.push_back(step);
      places.emplace(node->outputs.front(), static_cast<int>(places.size()) - 1);
    }
    return std::make_shared<PointwiseChain>(std::move(chain));
  }

  const Graph& graph_;
  std::vector<int> readers_;
  std::set<const Node*> swallowed_;
  std::map<const Node*, Group> groups_;  // by their last node
};

}  // namespace

Differentiated fuse_pointwise(const Differentiated& differentiated) {
  const PointwiseFuser fuser(differentiated.graph, count_readers(differentiated));
  if (fuser.found_nothing()) return differentiated;
  Rewriter rewriter(differentiated.graph);
  fuser.rewrite(rewriter);
  return rewriter.finish(differentiated.gradients);
}

Graph fuse_pointwise(const Graph& graph) {
  const PointwiseFuser fuser(graph, count_readers(graph));
  if (fuser.found_nothing()) return graph;
  Rewriter rewriter(graph);
  fuser.rewrite(rewriter);
  return rewriter.finish();
}

}  // namespace ptrain
