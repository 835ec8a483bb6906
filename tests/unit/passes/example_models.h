// Graphs of the small models, and what tests ask of them.
#pragma once

#include "core/passes/pipeline.h"
#include "tests/small_models.h"

#include <map>
#include <string>

namespace ptrain::testing {

/// Batch 2.
inline Graph resnet_graph(int depth, std::int64_t image_size = 32, Mode mode = Mode::training) {
  return with_losses(*make_resnet(small_resnet(depth, image_size)), 2, mode);
}

/// Batch 2.
inline Graph bert_graph(float dropout = 0.1f, Mode mode = Mode::training) {
  BertSpec spec = tiny_bert();
  spec.dropout = dropout;
  return with_losses(*make_bert(spec), 2, mode);
}

struct NamedGraph {
  std::string name;
  Graph graph;
};

inline std::vector<NamedGraph> all_models() {
  return {{"resnet18", resnet_graph(18)},
          {"resnet50", resnet_graph(50, 64)},
          {"bert", bert_graph()},
          {"bert without dropout", bert_graph(0)}};
}

/// How many nodes of each type.
inline std::map<std::string, int> node_types(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) ++counts[std::string(node.op->type())];
  return counts;
}

template <typename T>
const T& op_as(const Node& node) {
  return static_cast<const T&>(*node.op);
}

/// The one node of a type.
inline const Node& node_of_type(const Graph& graph, std::string_view type) {
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == type) return node;
  }
  throw std::logic_error("the graph has no " + std::string(type));
}

inline AmpOptions amp_options(AmpLevel level, DType dtype = DType::bf16) {
  AmpOptions options;
  options.level = level;
  options.dtype = dtype;
  return options;
}

inline PipelineOptions training_pipeline(AmpLevel level) {
  PipelineOptions options;
  options.amp = amp_options(level);
  options.decays = [](std::string_view, const Shape& shape) { return is_weight_matrix(shape); };
  return options;
}

inline constexpr AmpLevel all_levels[] = {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2};

}  // namespace ptrain::testing
