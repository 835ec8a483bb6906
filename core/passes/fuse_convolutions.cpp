#include "core/passes/fuse_convolutions.h"

#include "core/ops/image/conv2d_batch_norm.h"
#include "core/ops/normalization/batch_norm.h"
#include "core/ops/normalization/batch_norm_parts.h"
#include "core/passes/rewriter.h"

#include <algorithm>
#include <map>

namespace ptrain {
namespace {

constexpr NodeId no_node = -1;

/// A batch norm whose convolution can compute its sums.
struct Norm {
  NodeId node = no_node;
  NodeId convolution = no_node;  // the producer of its data
  // Where a convolution whose own norm is fused is the only reader of the result, it applies the norm:
  NodeId next = no_node, next_grad_weight = no_node, next_grad_input = no_node, gradient = no_node;
  // Where another norm's residual addition is the only reader of the result, it applies the norm:
  NodeId applied_by = no_node;
  std::size_t group = 0;

  bool is_prologue() const { return next != no_node; }
};

/// Finds the norms, and the groups of norms that can only be fused together.
class Analysis {
 public:
  explicit Analysis(const Graph& graph) : graph_(graph), readers_(graph.values().size()) {
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      for (const ValueId id : graph.nodes()[i].inputs) {
        if (id != no_value) readers_[static_cast<std::size_t>(id)].push_back(static_cast<NodeId>(i));
      }
    }
    for (const auto& output : graph.outputs()) readers_[static_cast<std::size_t>(output.second)].push_back(no_node);
    find_norms();
    for (Norm& norm : norms_) find_prologue(norm);
    for (Norm& norm : norms_) find_application(norm);
    for (Norm& norm : norms_) {
      if (norm.is_prologue()) join(norm, *norm_after(norm.next));
      if (norm.applied_by != no_node) join(norm, *find(norm.applied_by));
    }
  }

  const std::vector<Norm>& norms() const { return norms_; }

 private:
  bool is(NodeId id, std::string_view type) const { return id != no_node && graph_.node(id).op->type() == type; }
  const std::vector<NodeId>& readers(ValueId id) const { return readers_[static_cast<std::size_t>(id)]; }
  NodeId reader(ValueId id, std::string_view type) const {
    const auto found = std::find_if(readers(id).begin(), readers(id).end(), [&](NodeId n) { return is(n, type); });
    return found == readers(id).end() ? no_node : *found;
  }
  const BatchNorm& get_op(const Norm& norm) const { return static_cast<const BatchNorm&>(*graph_.node(norm.node).op); }
  ValueId get_result(const Norm& norm) const { return graph_.node(norm.node).outputs[0]; }
  ValueId find_residual(const Norm& norm) const {
    const std::vector<ValueId>& inputs = graph_.node(norm.node).inputs;
    return inputs.size() > BatchNorm::residual ? inputs[BatchNorm::residual] : no_value;
  }
  Norm* find(NodeId node) {
    const auto found = std::find_if(norms_.begin(), norms_.end(), [&](const Norm& n) { return n.node == node; });
    return found == norms_.end() ? nullptr : &*found;
  }
  Norm* norm_after(NodeId convolution) {
    const auto found =
        std::find_if(norms_.begin(), norms_.end(), [&](const Norm& n) { return n.convolution == convolution; });
    return found == norms_.end() ? nullptr : &*found;
  }

  void find_norms() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const auto id = static_cast<NodeId>(i);
      if (!is(id, "batch_norm")) continue;
      const auto& attrs = static_cast<const BatchNorm&>(*graph_.node(id).op).attrs();
      const NodeId convolution = graph_.value(graph_.node(id).inputs[BatchNorm::x]).producer;
      if (!attrs.training || attrs.sync || !is(convolution, "conv2d") || norm_after(convolution) != nullptr) continue;
      if (static_cast<const Conv2d&>(*graph_.node(convolution).op).attrs().groups != 1) continue;
      if (graph_.node(convolution).inputs.size() > Conv2d::bias) continue;
      norms_.push_back({.node = id, .convolution = convolution, .group = norms_.size()});
    }
  }

  void find_prologue(Norm& norm) {
    if (get_op(norm).attrs().activation != Activation::relu || find_residual(norm) != no_value) return;
    const ValueId y = get_result(norm);
    const NodeId next = reader(y, "conv2d"), grad_weight = reader(y, "conv2d_grad_weight");
    if (readers(y).size() != 2 || next == no_node || grad_weight == no_node || norm_after(next) == nullptr) return;
    const NodeId gradient = reader(graph_.node(norm.node).outputs[BatchNorm::saved_invstd], "batch_norm_grad");
    if (gradient == no_node) return;
    const ValueId dy = graph_.node(gradient).inputs[BatchNormGrad::dy];
    const NodeId grad_input = graph_.value(dy).producer;
    if (!is(grad_input, "conv2d_grad_input") || readers(dy).size() != 1) return;
    norm.next = next, norm.next_grad_weight = grad_weight, norm.next_grad_input = grad_input, norm.gradient = gradient;
  }

  void find_application(Norm& norm) {
    const ValueId y = get_result(norm);
    if (get_op(norm).attrs().activation != Activation::none || find_residual(norm) != no_value ||
        readers(y).size() != 1)
      return;
    const Norm* other = find(readers(y).front());
    if (other != nullptr && find_residual(*other) == y) norm.applied_by = other->node;
  }

  void join(Norm& a, Norm& b) {
    const std::size_t from = b.group;
    for (Norm& norm : norms_) {
      if (norm.group == from) norm.group = a.group;
    }
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;  // by value; no_node represents the graph's output
  std::vector<Norm> norms_;
};

/// Rebuilds the graph with the norms of some groups fused.
class ConvolutionFuser {
 public:
  ConvolutionFuser(const Differentiated& from, const std::vector<Norm>& norms, const std::vector<bool>& fused_groups)
      : from_(from.graph), rewriter_(from.graph) {
    for (const Norm& norm : norms) {
      if (!fused_groups[norm.group]) continue;
      sums_[norm.convolution] = &norm;
      norms_[norm.node] = &norm;
      if (norm.is_prologue()) {
        prologues_[norm.next] = grad_weights_[norm.next_grad_weight] = &norm;
        grad_inputs_[norm.next_grad_input] = gradients_[norm.gradient] = &norm;
      }
    }
  }

  Differentiated run(const std::vector<ParameterGradient>& gradients) {
    for (std::size_t i = 0; i < from_.nodes().size(); ++i) emit(static_cast<NodeId>(i), from_.nodes()[i]);
    return rewriter_.finish(gradients);
  }

  /// By group: the nodes that fusion would replace, in the old graph, and their replacements, in the new one.
  std::map<std::size_t, std::vector<NodeId>> replaced, made;

 private:
  /// Values of the new graph for a fused norm whose statistics are computed.
  struct Statistics {
    ValueId mean, invstd, scale, offset;
  };
  using Roles = std::map<NodeId, const Norm*>;

  static const Norm* in(const Roles& roles, NodeId id) {
    const auto found = roles.find(id);
    return found == roles.end() ? nullptr : found->second;
  }

  void emit(NodeId id, const Node& node) {
    if (const Norm* norm = in(sums_, id)) return emit_convolution(id, node, *norm);
    if (const Norm* norm = in(norms_, id)) return emit_norm(id, node, *norm);
    if (const Norm* norm = in(grad_weights_, id)) return emit_grad_weight(id, node, *norm);
    if (const Norm* norm = in(grad_inputs_, id)) return emit_grad_input(id, node, *norm);
    if (const Norm* norm = in(gradients_, id)) return emit_gradient(id, node, *norm);
    rewriter_.copy(node);
  }

  /// Adds a node under the name of the old one, with a suffix if it is not the first to replace it.
  std::vector<ValueId> add(const Node& old, const char* suffix, OpPtr op, std::vector<ValueId> inputs,
                           const Norm& norm) {
    made[norm.group].push_back(static_cast<NodeId>(rewriter_.graph().nodes().size()));
    return rewriter_.graph().add_node(old.name + suffix, std::move(op), std::move(inputs), old.phase);
  }
  ValueId mapped(const Node& node, int input) const {
    return rewriter_.mapped(node.inputs[static_cast<std::size_t>(input)]);
  }
  template <typename T>
  static const T& op_as(const Node& node) {
    return static_cast<const T&>(*node.op);
  }
  const Statistics& statistics(const Norm& norm) const { return statistics_.at(norm.node); }
  /// The data of the norm before, which a prologue reads instead of the norm's result.
  ValueId get_data(const Norm& norm) const { return mapped(from_.node(norm.node), BatchNorm::x); }

  void emit_convolution(NodeId id, const Node& node, const Norm& norm) {
    replaced[norm.group].push_back(id);
    std::vector<ValueId> inputs{mapped(node, 0), mapped(node, 1), no_value, no_value};
    if (const Norm* before = in(prologues_, id)) {
      const Statistics& s = statistics(*before);
      inputs = {get_data(*before), mapped(node, 1), s.scale, s.offset};
    }
    const auto outputs =
        add(node, "", std::make_shared<Conv2dBatchNorm>(op_as<Conv2d>(node).attrs()), std::move(inputs), norm);
    rewriter_.map(node.outputs[0], outputs[0]);
    sums_of_[id] = {outputs[1], outputs[2]};
  }

  void emit_norm(NodeId id, const Node& node, const Norm& norm) {
    replaced[norm.group].push_back(id);
    const BatchNorm::Attributes& attrs = op_as<BatchNorm>(node).attrs();
    const TensorDesc& data = from_.desc(node.inputs[BatchNorm::x]);
    const auto [sum, sum_of_squares] = sums_of_.at(norm.convolution);
    const auto parts = add(node, "",
                           std::make_shared<BatchNormFinalize>(BatchNormFinalize::Attributes{
                               data.count() / data.shape[-1], attrs.epsilon, attrs.momentum}),
                           {sum, sum_of_squares, mapped(node, BatchNorm::gamma), mapped(node, BatchNorm::beta),
                            mapped(node, BatchNorm::running_mean), mapped(node, BatchNorm::running_var)},
                           norm);
    statistics_[id] = {parts[BatchNormFinalize::saved_mean], parts[BatchNormFinalize::saved_invstd],
                       parts[BatchNormFinalize::scale], parts[BatchNormFinalize::offset]};
    rewriter_.map(node.outputs[BatchNorm::saved_mean], parts[BatchNormFinalize::saved_mean]);
    rewriter_.map(node.outputs[BatchNorm::saved_invstd], parts[BatchNormFinalize::saved_invstd]);
    if (!norm.is_prologue() && norm.applied_by == no_node) emit_application(id, node, norm);
  }

  void emit_application(NodeId id, const Node& node, const Norm& norm) {
    const Statistics& s = statistics(norm);
    std::vector<ValueId> inputs{mapped(node, BatchNorm::x), s.scale, s.offset, no_value, no_value, no_value};
    if (node.inputs.size() > BatchNorm::residual && node.inputs[BatchNorm::residual] != no_value) {
      const ValueId residual = node.inputs[BatchNorm::residual];
      const Norm* other = in(norms_, from_.value(residual).producer);
      if (other != nullptr && other->applied_by == id) {
        inputs[3] = get_data(*other), inputs[4] = statistics(*other).scale, inputs[5] = statistics(*other).offset;
      } else {
        inputs[3] = rewriter_.mapped(residual);
      }
    }
    const BatchNormApply::Attributes attributes{op_as<BatchNorm>(node).attrs().activation,
                                                node.outputs.size() > BatchNorm::mask};
    const auto outputs = add(node, ".apply", std::make_shared<BatchNormApply>(attributes), std::move(inputs), norm);
    rewriter_.map(node.outputs[BatchNorm::y], outputs[BatchNormApply::y]);
    if (attributes.mask) rewriter_.map(node.outputs[BatchNorm::mask], outputs[BatchNormApply::mask]);
  }

  void emit_grad_weight(NodeId id, const Node& node, const Norm& norm) {
    replaced[norm.group].push_back(id);
    const Statistics& s = statistics(norm);
    const auto outputs =
        add(node, "", std::make_shared<Conv2dBatchNormGradWeight>(op_as<Conv2dGradWeight>(node).attrs()),
            {get_data(norm), mapped(node, 1), s.scale, s.offset}, norm);
    rewriter_.map(node.outputs[0], outputs[0]);
  }

  void emit_grad_input(NodeId id, const Node& node, const Norm& norm) {
    replaced[norm.group].push_back(id);
    const Statistics& s = statistics(norm);
    const Node& forward = from_.node(norm.node);
    const auto outputs =
        add(node, "", std::make_shared<Conv2dBatchNormGradInput>(op_as<Conv2dGradInput>(node).attrs().conv),
            {mapped(node, 0), mapped(node, 1), get_data(norm), s.mean, s.invstd, mapped(forward, BatchNorm::gamma),
             mapped(forward, BatchNorm::beta)},
            norm);
    rewriter_.map(node.outputs[0], outputs[0]);
    const Node& gradient = from_.node(norm.gradient);
    rewriter_.map(gradient.outputs[1], outputs[1]);
    rewriter_.map(gradient.outputs[2], outputs[2]);
  }

  void emit_gradient(NodeId id, const Node& node, const Norm& norm) {
    replaced[norm.group].push_back(id);
    const Statistics& s = statistics(norm);
    const auto outputs =
        add(node, "", std::make_shared<BatchNormGradApply>(),
            {mapped(node, BatchNormGrad::dy), mapped(node, BatchNormGrad::x), mapped(node, BatchNormGrad::gamma),
             s.mean, s.invstd, rewriter_.mapped(node.outputs[1]), rewriter_.mapped(node.outputs[2])},
            norm);
    rewriter_.map(node.outputs[0], outputs[0]);
  }

  const Graph& from_;
  Rewriter rewriter_;
  Roles sums_, norms_, prologues_, grad_weights_, grad_inputs_, gradients_;
  std::map<NodeId, std::pair<ValueId, ValueId>> sums_of_;  // by convolution, in the new graph
  std::map<NodeId, Statistics> statistics_;                // by norm
};

std::vector<NodeProblem> collect_problems(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<NodeProblem> result;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    result.push_back({node.op, graph.input_descs(node), graph.output_descs(node)});
  }
  return result;
}

}  // namespace

Differentiated fuse_convolutions(Differentiated differentiated, const FusionPolicy& choose) {
  const Analysis analysis(differentiated.graph);
  std::vector<bool> groups(analysis.norms().size(), true);
  ConvolutionFuser all(differentiated, analysis.norms(), groups);
  Differentiated fused = all.run(differentiated.gradients);
  std::size_t chosen = 0;
  for (const auto& [group, nodes] : all.replaced) {
    groups[group] =
        choose({collect_problems(differentiated.graph, nodes), collect_problems(fused.graph, all.made[group])});
    chosen += groups[group];
  }
  if (chosen == 0) return differentiated;
  if (chosen == all.replaced.size()) return fused;
  return ConvolutionFuser(differentiated, analysis.norms(), groups).run(differentiated.gradients);
}

}  // namespace ptrain
