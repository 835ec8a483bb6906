// The real models in small, and what tests ask of their graphs.
#pragma once

#include "core/passes/pipeline.h"
#include "models/bert.h"
#include "models/resnet.h"

#include <map>
#include <string>

namespace ptrain::testing {

/// Batch 2, 4 classes. Images of 64 px and above get the ImageNet stem.
inline Graph resnet_graph(int depth, std::int64_t image_size = 32, Mode mode = Mode::training) {
  ResNetSpec spec;
  spec.depth = depth;
  spec.classes = 4;
  spec.image_size = image_size;
  spec.stem = image_size < 64 ? ResNetStem::small : ResNetStem::imagenet;
  return make_resnet(spec)->build(2, mode);
}

/// BERT tiny, batch 2, 16 tokens.
inline Graph bert_graph(float dropout = 0.1f, Mode mode = Mode::training) {
  BertSpec spec = bert_spec_of_size("tiny");
  spec.vocab_size = 100;
  spec.max_positions = 32;
  spec.max_length = 16;
  spec.dropout = dropout;
  return make_bert(spec)->build(2, mode);
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
