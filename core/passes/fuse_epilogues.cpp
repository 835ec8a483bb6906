#include "core/passes/fuse_epilogues.h"

#include "core/ops/activation.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/linear.h"
#include "core/passes/rewriter.h"

#include <set>

namespace ptrain {
namespace {

class EpilogueFuser {
 public:
  explicit EpilogueFuser(const Graph& graph) : graph_(graph), rewriter_(graph), readers_(count_readers(graph)) {}

  Graph run() {
    for (const Node& node : graph_.nodes()) {
      if (const Node* before = activated(node)) swallowed_.insert(before);
    }
    for (const Node& node : graph_.nodes()) {
      if (swallowed_.contains(&node)) continue;
      if (const Node* before = activated(node)) {
        emit(*before, static_cast<const ActivationOp&>(*node.op).activation(), node.outputs.front());
      } else if (node.op->type() == "linear") {
        emit(node, get_activation(node), node.outputs.front());
      } else {
        rewriter_.copy(node);
      }
    }
    return rewriter_.finish();
  }

 private:
  static Activation get_activation(const Node& node) {
    return node.op->type() == "linear" ? static_cast<const Linear&>(*node.op).attrs().activation
                                       : static_cast<const Conv2d&>(*node.op).activation();
  }

  /// The layer that the activation `node` can be fused into, or null.
  const Node* activated(const Node& node) const {
    if (node.op->kernel() != "activation") return nullptr;
    const Node* before = sole_producer(graph_, readers_, node.inputs.front());
    if (before == nullptr) return nullptr;
    const std::string_view type = before->op->type();
    return (type == "linear" || type == "conv2d") && get_activation(*before) == Activation::none ? before : nullptr;
  }

  void emit(const Node& node, Activation activation, ValueId result) {
    OpPtr op;
    if (node.op->type() == "linear") {
      op = std::make_shared<Linear>(LinearAttributes{activation, false});
    } else {
      op = std::make_shared<Conv2d>(static_cast<const Conv2d&>(*node.op).attrs(), activation);
    }
    const ValueId y = rewriter_.graph().add(node.name, std::move(op), rewriter_.mapped(node.inputs), node.phase);
    rewriter_.map(result, y);
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> readers_;
  std::set<const Node*> swallowed_;
};

}  // namespace

Graph fuse_epilogues(const Graph& graph) { return EpilogueFuser(graph).run(); }

}  // namespace ptrain
