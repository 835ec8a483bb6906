#include "core/passes/fuse.h"

#include "core/ops/activation.h"
#include "core/ops/dropout.h"
#include "core/ops/image/conv2d.h"
#include "core/ops/linear.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/normalization/dropout_add_layer_norm.h"
#include "core/ops/normalization/layer_norm.h"
#include "core/passes/rewriter.h"

namespace ptrain {
namespace {

/// Finds chains in the old graph; the nodes of a chain are not copied.
class Fuser {
 public:
  explicit Fuser(const Graph& graph)
      : graph_(graph), rewriter_(graph), uses_(count_readers(graph)), swallowed_(graph.nodes().size(), false) {}

  Graph run() {
    mark();
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!swallowed_[i]) emit(graph_.nodes()[i]);
    }
    return rewriter_.finish();
  }

 private:
  /// The node that produces `id`, if it is of `type` and the value is read only once.
  const Node* sole_producer(ValueId id, std::string_view type) const {
    const Node* node = ptrain::sole_producer(graph_, uses_, id);
    return node != nullptr && node->op->type() == type ? node : nullptr;
  }

  /// The element dropout that produces `id`, which layer norms can fuse.
  const Node* element_dropout(ValueId id) const {
    const Node* node = sole_producer(id, "dropout");
    const bool fits = node != nullptr && static_cast<const Dropout&>(*node->op).attrs().unit == DropoutUnit::element;
    return fits ? node : nullptr;
  }

  void swallow(const Node* node) { swallowed_[static_cast<std::size_t>(node - graph_.nodes().data())] = true; }

  /// The chain that ends in an activation that norms can fuse: batch_norm, or batch_norm + add with the other side as
  /// the residual.
  struct NormChain {
    const Node* norm = nullptr;
    const Node* add = nullptr;
    ValueId residual = no_value;
  };

  NormChain norm_chain(const Node& activation) const {
    if (!get_traits(get_activation(activation)).in_norms) return {};
    if (const Node* norm = sole_producer(activation.inputs[0], "batch_norm")) return {norm};
    const Node* add = sole_producer(activation.inputs[0], "add");
    if (add == nullptr || !is_gate(get_activation(activation)) || !in_eights(activation)) return {};
    // The later of the two batch norms takes the other side as its residual, so that it is computed before it is read.
    const Node* best = nullptr;
    int side = 0;
    for (int i = 0; i < 2; ++i) {
      const Node* norm = sole_producer(add->inputs[static_cast<std::size_t>(i)], "batch_norm");
      if (norm != nullptr && (best == nullptr || norm > best)) best = norm, side = i;
    }
    if (best == nullptr) return {};
    const ValueId residual = add->inputs[static_cast<std::size_t>(1 - side)];
    return is_computed_before(residual, *best) ? NormChain{best, add, residual} : NormChain{};
  }

  /// Whether the node's channels fill whole bytes of a mask.
  bool in_eights(const Node& node) const { return graph_.desc(node.inputs[0]).shape[-1] % 8 == 0; }
  static Activation get_activation(const Node& node) { return static_cast<const ActivationOp&>(*node.op).activation(); }

  static bool is_plain_norm(const Node& node) {
    const auto& attrs = static_cast<const BatchNorm&>(*node.op).attrs();
    return attrs.activation == Activation::none && node.inputs.size() <= BatchNorm::residual;
  }

  /// The chain that ends in an activation that layers can fuse: linear + GELU or ReLU, convolution with a bias + ReLU,
  /// or convolution with a bias + add + ReLU with the other side as the residual.
  struct LayerChain {
    const Node* layer = nullptr;
    const Node* add = nullptr;
    ValueId residual = no_value;
  };

  LayerChain layer_chain(const Node& activation) const {
    const std::string_view type = activation.op->type();
    if (type != "gelu" && type != "relu") return {};
    if (const Node* linear = sole_producer(activation.inputs[0], "linear")) {
      const bool is_plain = static_cast<const Linear&>(*linear->op).attrs().activation == Activation::none;
      return {is_plain ? linear : nullptr};
    }
    if (type != "relu") return {};
    if (const Node* conv = plain_convolution(activation.inputs[0])) return {conv};
    const Node* add = sole_producer(activation.inputs[0], "add");
    if (add == nullptr) return {};
    for (std::size_t side = 0; side < 2; ++side) {
      const Node* conv = plain_convolution(add->inputs[side]);
      const ValueId residual = add->inputs[1 - side];
      if (conv != nullptr && is_computed_before(residual, *conv)) return {conv, add, residual};
    }
    return {};
  }

  /// The convolution with a bias alone that produces `id`, if the value is read only once.
  const Node* plain_convolution(ValueId id) const {
    const Node* conv = sole_producer(id, "conv2d");
    if (conv == nullptr || conv->inputs.size() != Conv2d::residual) return nullptr;
    return static_cast<const Conv2d&>(*conv->op).activation() == Activation::none ? conv : nullptr;
  }

  bool is_computed_before(ValueId id, const Node& node) const {
    const NodeId producer = graph_.value(id).producer;
    return producer < 0 || graph_.nodes().data() + producer < &node;
  }

  void mark() {
    for (const Node& node : graph_.nodes()) {
      const std::string_view type = node.op->type();
      if (node.op->kernel() == "activation") {
        const NormChain chain = norm_chain(node);
        if (chain.norm != nullptr && is_plain_norm(*chain.norm)) {
          swallow(chain.norm);
          if (chain.add != nullptr) swallow(chain.add);
          continue;
        }
      }
      if (const LayerChain chain = layer_chain(node); chain.layer != nullptr) {
        swallow(chain.layer);
        if (chain.add != nullptr) swallow(chain.add);
      } else if (type == "layer_norm") {
        if (const Node* add = sole_producer(node.inputs[0], "add")) {
          swallow(add);
          if (const Node* dropout = element_dropout(add->inputs[0])) swallow(dropout);
        }
      }
    }
  }

  void emit(const Node& node) {
    const std::string_view type = node.op->type();
    if (node.op->kernel() == "activation" && emit_norm_activation(node)) return;
    if (const LayerChain chain = layer_chain(node); chain.layer != nullptr) return emit_activated_layer(chain, node);
    if (type == "layer_norm" && emit_residual_norm(node)) return;
    rewriter_.copy(node);
  }

  bool emit_norm_activation(const Node& activation) {
    const NormChain chain = norm_chain(activation);
    if (chain.norm == nullptr || !is_plain_norm(*chain.norm)) return false;
    BatchNorm::Attributes attrs = static_cast<const BatchNorm&>(*chain.norm->op).attrs();
    attrs.activation = get_activation(activation);
    std::vector<ValueId> inputs = rewriter_.mapped(chain.norm->inputs);
    if (chain.residual != no_value) inputs.push_back(rewriter_.mapped(chain.residual));
    replace(*chain.norm, std::make_shared<BatchNorm>(attrs), std::move(inputs), activation);
    return true;
  }

  void emit_activated_layer(const LayerChain& chain, const Node& activation) {
    const Node& layer = *chain.layer;
    std::vector<ValueId> inputs = rewriter_.mapped(layer.inputs);
    if (chain.residual != no_value) inputs.push_back(rewriter_.mapped(chain.residual));
    OpPtr op;
    if (layer.op->type() == "conv2d") {
      op = std::make_shared<Conv2d>(static_cast<const Conv2d&>(*layer.op).attrs(), get_activation(activation));
    } else {
      LinearAttributes attrs;
      attrs.activation = get_activation(activation);
      attrs.save_pre = true;
      op = std::make_shared<Linear>(attrs);
    }
    replace(layer, std::move(op), std::move(inputs), activation);
  }

  bool emit_residual_norm(const Node& norm) {
    const Node* add = sole_producer(norm.inputs[0], "add");
    if (add == nullptr) return false;
    const Node* dropout = element_dropout(add->inputs[0]);
    DropoutAddLayerNormAttributes attrs;
    attrs.epsilon = static_cast<const LayerNorm&>(*norm.op).epsilon();
    ValueId x = add->inputs[0], rng = no_value;
    if (dropout != nullptr) {
      const auto& dropped = static_cast<const Dropout&>(*dropout->op).attrs();
      attrs.dropout = dropped.p;
      attrs.stream = dropped.stream;
      x = dropout->inputs[0];
      rng = dropout->inputs[1];
    }
    replace(norm, std::make_shared<DropoutAddLayerNorm>(attrs),
            rewriter_.mapped(std::vector<ValueId>{x, add->inputs[1], norm.inputs[1], norm.inputs[2], rng}), norm);
    return true;
  }

  /// Emits the fused op under the first node's name; its first output replaces the last node's.
  void replace(const Node& named, OpPtr op, std::vector<ValueId> inputs, const Node& last) {
    const auto outputs = rewriter_.graph().add_node(named.name, std::move(op), std::move(inputs), last.phase);
    rewriter_.map(last.outputs.front(), outputs.front());
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::vector<int> uses_;
  std::vector<bool> swallowed_;
};

}  // namespace

Graph fuse(const Graph& graph) { return Fuser(graph).run(); }

}  // namespace ptrain
