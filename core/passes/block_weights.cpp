#include "core/passes/block_weights.h"

#include "core/ops/linear.h"
#include "core/ops/quantization/block_linear.h"
#include "core/ops/softmax_cross_entropy.h"
#include "core/ops/text/embedding.h"
#include "core/passes/keep_outputs.h"
#include "core/passes/rewriter.h"

#include <fmt/format.h>

#include <set>

namespace ptrain {
namespace {

class BlockWeightsRewriter {
 public:
  BlockWeightsRewriter(const Graph& graph, const BlockFormats& formats)
      : graph_(graph), formats_(formats), rewriter_(graph) {}

  Graph run() {
    for (const Node& node : graph_.nodes()) {
      if (!emit_linear(node) && !emit_embedding(node)) rewriter_.copy(node);
    }
    return rewriter_.finish();
  }

 private:
  /// The format of a parameter that has whole blocks.
  std::optional<BlockFormat> find_format(ValueId id) const {
    const Value& value = graph_.value(id);
    const Shape& shape = value.desc.shape;
    const bool fits = value.storage == Storage::parameter && value.desc.dtype == DType::f32 && shape.rank() == 2;
    const std::optional<BlockFormat> format = fits ? formats_(value.name) : std::nullopt;
    return format && shape[1] % block_elements(*format) == 0 ? format : std::nullopt;
  }

  /// The parameter in blocks, which several nodes may read.
  ValueId blocks(ValueId id, BlockFormat format) {
    const Value& value = graph_.value(id);
    const std::string name = block_weights_name(value.name, format);
    const ValueId known = rewriter_.graph().find_value(name);
    if (known != no_value) return known;
    return rewriter_.graph().add_value(name, describe_blocks(format, value.desc.shape), Storage::parameter);
  }

  bool emit_linear(const Node& node) {
    const auto* linear = dynamic_cast<const Linear*>(node.op.get());
    if (linear == nullptr || linear->attrs().save_pre) return false;
    const std::optional<BlockFormat> format = find_format(node.inputs[Linear::w]);
    if (!format) return false;
    std::vector<ValueId> inputs = rewriter_.mapped(node.inputs);
    inputs[Linear::w] = blocks(node.inputs[Linear::w], *format);
    static_assert(Linear::x == int{BlockLinear::x} && Linear::w == int{BlockLinear::w} &&
                  Linear::bias == int{BlockLinear::bias});
    Graph& graph = rewriter_.graph();
    const auto op = std::make_shared<BlockLinear>(BlockAttributes{*format});
    ValueId made = graph.add(node.name, op, std::move(inputs));
    if (const Activation activation = linear->attrs().activation; activation != Activation::none) {
      made = graph.add(node.name + ".activation", std::make_shared<ActivationOp>(activation), {made});
    }
    rewriter_.map(node.outputs[0], made);
    return true;
  }

  bool emit_embedding(const Node& node) {
    if (dynamic_cast<const Embedding*>(node.op.get()) == nullptr) return false;
    const ValueId table = node.inputs[Embedding::table];
    const std::optional<BlockFormat> format = find_format(table);
    if (!format) return false;
    static_assert(Embedding::ids == int{BlockEmbedding::ids} && Embedding::table == int{BlockEmbedding::table});
    rewriter_.copy({node.name, std::make_shared<BlockEmbedding>(BlockAttributes{*format}), node.inputs, node.outputs},
                   {rewriter_.mapped(node.inputs[Embedding::ids]), blocks(table, *format)});
    return true;
  }

  const Graph& graph_;
  const BlockFormats& formats_;
  Rewriter rewriter_;
};

/// The parameters that nodes read otherwise than as weights of layers before the losses, or tables.
std::set<std::string, std::less<>> find_other_parameters(const Graph& graph) {
  std::set<ValueId> logits;
  for (const Node& node : graph.nodes()) {
    if (dynamic_cast<const SoftmaxCrossEntropy*>(node.op.get()) == nullptr) continue;
    logits.insert(node.inputs[SoftmaxCrossEntropy::logits]);
  }
  std::set<std::string, std::less<>> others;
  for (const Node& node : graph.nodes()) {
    const bool is_layer = dynamic_cast<const Linear*>(node.op.get()) != nullptr && !logits.contains(node.outputs[0]);
    const bool is_table = dynamic_cast<const Embedding*>(node.op.get()) != nullptr;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if ((is_layer && i == Linear::w) || (is_table && i == Embedding::table) || id == no_value) continue;
      if (graph.value(id).storage == Storage::parameter) others.insert(graph.value(id).name);
    }
  }
  return others;
}

}  // namespace

Graph use_block_weights(const Graph& graph, const BlockFormats& formats) {
  return BlockWeightsRewriter(graph, formats).run();
}

Graph use_frozen_block_weights(const Graph& graph, const BlockFormats& formats) {
  const std::set<std::string, std::less<>> others = find_other_parameters(graph);
  const Graph in_blocks = use_block_weights(
      graph, [&](std::string_view name) { return others.contains(name) ? std::nullopt : formats(name); });
  std::vector<std::string> outputs;
  for (const auto& [name, value] : in_blocks.outputs()) outputs.push_back(name);
  return keep_outputs(in_blocks, outputs);  // without the weights in full precision
}

std::string block_weights_name(std::string_view parameter, BlockFormat format) {
  return fmt::format("{}@{}", parameter, enum_name(format));
}

std::optional<BlockWeights> find_block_weights(std::string_view variable) {
  const std::size_t at = variable.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  const auto format = choice_from_name<BlockFormat>(variable.substr(at + 1));
  if (!format) return std::nullopt;
  return BlockWeights{std::string(variable.substr(0, at)), *format};
}

}  // namespace ptrain
