// Rebuilds a graph node by node: what every forward pass that changes nodes is written with.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// By value: how often nodes read it, and how many of the graph's outputs it is.
std::vector<int> count_readers(const Graph& graph);
/// The same, and how many parameters' gradients it is.
std::vector<int> count_readers(const Differentiated& differentiated);

/// The node whose first output `id` is, where one reader alone reads it; else null. `readers` from count_readers.
const Node* sole_producer(const Graph& graph, const std::vector<int>& readers, ValueId id);

class Rewriter {
 public:
  /// Starts with a copy of the values that persist or are fed; nodes are added by the pass.
  explicit Rewriter(const Graph& from);

  Graph& graph() { return to_; }
  const Graph& graph() const { return to_; }
  /// What stands for value `id` of the old graph in the new one.
  ValueId mapped(ValueId id) const { return id == no_value ? no_value : map_[static_cast<std::size_t>(id)]; }
  void map(ValueId from, ValueId to) { map_[static_cast<std::size_t>(from)] = to; }
  std::vector<ValueId> mapped(const std::vector<ValueId>& ids) const;
  /// Adds `node` with other inputs and maps its outputs; views of what persists stay views.
  void copy(const Node& node, std::vector<ValueId> inputs);
  void copy(const Node& node) { copy(node, mapped(node.inputs)); }
  /// Maps the graph's outputs and gives the new graph away.
  Graph finish();
  /// Likewise, with what `gradients` of the old graph are in the new one.
  Differentiated finish(std::vector<ParameterGradient> gradients);

 private:
  void keep_view(ValueId id);

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;
};

}  // namespace ptrain
