#include "core/passes/fuse_gradients.h"

#include "core/ops/linear.h"
#include "core/passes/rewriter.h"

#include <map>
#include <set>

namespace ptrain {
namespace {

/// A linear_grad_input whose only reader is the gradient of an activation.
struct Joint {
  const Node* product = nullptr;
  const Node* activation = nullptr;
  const Node* weight = nullptr;  // the linear_grad_weight that also computes the bias gradient, if any
};

/// The product that computes `value`, if nothing is fused into it yet.
const Node* find_plain_product(const Graph& graph, ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer < 0 || graph.node(producer).op->type() != "linear_grad_input") return nullptr;
  const Node& node = graph.node(producer);
  return static_cast<const LinearGradInput&>(*node.op).attrs().activation == Activation::none ? &node : nullptr;
}

const LinearGradWeightAttributes& get_weight_attributes(const Node& node) {
  return static_cast<const LinearGradWeight&>(*node.op).attrs();
}

/// Keyed by the activation's gradient, whose place the fused op takes.
std::map<const Node*, Joint> find_joints(const Differentiated& differentiated) {
  const Graph& graph = differentiated.graph;
  const std::vector<int> readers = count_readers(differentiated);

  std::map<const Node*, Joint> joints;
  std::map<ValueId, Joint*> by_result;
  for (const Node& node : graph.nodes()) {
    if (dynamic_cast<const ActivationGrad*>(node.op.get()) != nullptr) {
      const ValueId saved = node.inputs[0], dy = node.inputs[1];
      const Node* product = find_plain_product(graph, dy);
      if (product == nullptr || readers[static_cast<std::size_t>(dy)] != 1) continue;
      if (graph.desc(saved).dtype != graph.desc(dy).dtype) continue;
      by_result[node.outputs[0]] = &(joints[&node] = {product, &node});
    } else if (node.op->type() == "linear_grad_weight" && get_weight_attributes(node).bias) {
      const auto joint = by_result.find(node.inputs[1]);
      if (joint != by_result.end() && joint->second->weight == nullptr) joint->second->weight = &node;
    }
  }
  return joints;
}

void emit_joint(const Joint& joint, Rewriter& rewriter) {
  LinearGradInputAttributes attributes;
  attributes.activation = static_cast<const ActivationGrad&>(*joint.activation->op).activation();
  if (joint.weight != nullptr) attributes.bias = get_weight_attributes(*joint.weight).dtype;
  const std::vector<ValueId> inputs{joint.product->inputs[0], joint.product->inputs[1], joint.activation->inputs[0]};
  const std::vector<ValueId> outputs =
      rewriter.graph().add_node(joint.product->name, std::make_shared<LinearGradInput>(attributes),
                                rewriter.mapped(inputs), joint.activation->phase);
  rewriter.map(joint.activation->outputs[0], outputs[0]);
  if (joint.weight != nullptr) rewriter.map(joint.weight->outputs[1], outputs[1]);
}

void emit_without_bias(const Node& weight, Rewriter& rewriter) {
  LinearGradWeightAttributes attributes = get_weight_attributes(weight);
  attributes.bias = false;
  const ValueId dw = rewriter.graph().add(weight.name, std::make_shared<LinearGradWeight>(attributes),
                                          rewriter.mapped(weight.inputs), weight.phase);
  rewriter.map(weight.outputs[0], dw);
}

}  // namespace

Differentiated fuse_gradients(const Differentiated& differentiated) {
  const std::map<const Node*, Joint> joints = find_joints(differentiated);
  std::set<const Node*> products, weights;
  for (const auto& [activation, joint] : joints) {
    products.insert(joint.product);
    if (joint.weight != nullptr) weights.insert(joint.weight);
  }

  Rewriter rewriter(differentiated.graph);
  for (const Node& node : differentiated.graph.nodes()) {
    if (const auto joint = joints.find(&node); joint != joints.end()) {
      emit_joint(joint->second, rewriter);
    } else if (weights.contains(&node)) {
      emit_without_bias(node, rewriter);
    } else if (!products.contains(&node)) {
      rewriter.copy(node);
    }
  }
  return rewriter.finish(differentiated.gradients);
}

}  // namespace ptrain
