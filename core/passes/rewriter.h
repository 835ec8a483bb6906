// Rebuilds a graph node by node; every forward pass that changes nodes uses it.
#pragma once

#include "core/passes/autodiff.h"

namespace ptrain {

/// By value: the number of nodes that read it plus the number of outputs that it is.
std::vector<int> count_readers(const Graph& graph);
/// The same, plus the number of parameter gradients that it is.
std::vector<int> count_readers(const Differentiated& differentiated);

/// The node whose first output is `id`, if it has exactly one reader; else null. `readers` from count_readers.
const Node* sole_producer(const Graph& graph, const std::vector<int>& readers, ValueId id);

class Rewriter {
 public:
  /// Starts with a copy of the persistent and fed values; the pass adds nodes.
  explicit Rewriter(const Graph& from);

  Graph& graph() { return to_; }
  const Graph& graph() const { return to_; }
  /// The value of the new graph that replaces value `id` of the old one.
  ValueId mapped(ValueId id) const { return id == no_value ? no_value : map_[static_cast<std::size_t>(id)]; }
  void map(ValueId from, ValueId to) { map_[static_cast<std::size_t>(from)] = to; }
  std::vector<ValueId> mapped(const std::vector<ValueId>& ids) const;
  /// Adds `node` with other inputs and maps its outputs; views of persistent values stay views.
  void copy(const Node& node, std::vector<ValueId> inputs);
  void copy(const Node& node) { copy(node, mapped(node.inputs)); }
  /// Maps the graph's outputs and returns the new graph.
  Graph finish();
  /// Likewise, with the parameter gradients mapped to the new graph.
  Differentiated finish(std::vector<ParameterGradient> gradients);

 private:
  void keep_view(ValueId id);

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;
};

}  // namespace ptrain
