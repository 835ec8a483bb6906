#include "core/passes/recompute.h"

#include "core/ops/normalization/batch_norm.h"
#include "core/passes/memory_plan.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace ptrain {
namespace {

using namespace testing;

Graph training_graph(const Graph& forward, Recompute what, AmpLevel level = AmpLevel::O0) {
  PipelineOptions options = training_pipeline(level);
  options.recompute = what;
  return build_training_graph(forward, options).graph;
}

/// "bert.encoder.layer.0" or "layer1.0" of a node's name; empty where there is none.
std::string block_of(const std::string& node) {
  std::smatch match;
  return std::regex_search(node, match, std::regex(R"(^.*?(layer\.\d+|layer\d+\.\d+))")) ? match.str() : "";
}

/// By type, the nodes that backward repeats.
std::map<std::string, int> repeated_types(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) {
    if (node.phase == Pass::recompute) ++counts[std::string(node.op->type())];
  }
  return counts;
}

/// Forward values that are read after the forward pass.
std::set<ValueId> find_kept(const Graph& graph) {
  std::set<ValueId> kept;
  for (const Node& node : graph.nodes()) {
    if (node.phase == Pass::forward) continue;
    for (const ValueId id : node.inputs) {
      const bool is_made = id != no_value && graph.value(id).producer >= 0;
      if (is_made && graph.node(graph.value(id).producer).phase == Pass::forward) kept.insert(id);
    }
  }
  return kept;
}

TEST(Recompute, KeepsOfABlockOnlyWhatOthersRead) {
  for (const NamedGraph& model : all_models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = training_graph(model.graph, Recompute::block);
    std::map<ValueId, std::set<std::string>> readers;
    for (const Node& node : graph.nodes()) {
      if (node.phase != Pass::forward) continue;
      for (const ValueId id : node.inputs) readers[id].insert(block_of(node.name));
    }
    EXPECT_LT(find_kept(graph).size(), find_kept(training_graph(model.graph, Recompute::none)).size() / 2);
    for (const ValueId id : find_kept(graph)) {
      std::set<std::string> others = readers[id];
      const std::string block = block_of(graph.node(graph.value(id).producer).name);
      others.erase(block);
      EXPECT_TRUE(block.empty() || !others.empty()) << graph.value(id).name;
    }
  }
}

TEST(Recompute, NeedsLessMemory) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      SCOPED_TRACE(model.name + " " + std::string(enum_name(level)));
      const auto arena = [&](Recompute what) {
        return plan_memory(training_graph(model.graph, what, level), MemoryReuse::on).arena_bytes;
      };
      EXPECT_LT(arena(Recompute::block), arena(Recompute::none));
      EXPECT_LT(arena(Recompute::selective), arena(Recompute::none));
    }
  }
}

TEST(Recompute, RepeatsOnlyWhatIsCheapIfSelective) {
  for (const NamedGraph& model : all_models()) {
    auto types = repeated_types(training_graph(model.graph, Recompute::selective));
    EXPECT_FALSE(types.empty()) << model.name;
    EXPECT_EQ(types["linear"] + types["conv2d"] + types["attention"], 0) << model.name;
  }
}

TEST(Recompute, LeavesRunningStatisticsToTheForwardPass) {
  const Graph graph = training_graph(resnet_graph(18), Recompute::block);
  int norms = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() != "batch_norm") continue;
    EXPECT_EQ(op_as<BatchNorm>(node).attrs().momentum == 0, node.phase == Pass::recompute) << node.name;
    norms += node.phase == Pass::recompute;
  }
  EXPECT_GT(norms, 10);
}

TEST(Recompute, ReadsTheRandomStateAndStreamsOfTheForwardPass) {
  const Graph graph = training_graph(bert_graph(), Recompute::block);
  std::map<std::string, const Node*> forward;
  for (const Node& node : graph.nodes()) {
    if (node.phase == Pass::forward) forward[node.name] = &node;
  }
  int drawn = 0;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Pass::recompute || node.op->type() != "dropout_add_layer_norm") continue;
    const Node& first = *forward.at(node.name.substr(0, node.name.rfind('.')));
    EXPECT_EQ(node.op, first.op) << node.name;
    EXPECT_EQ(node.inputs.back(), first.inputs.back()) << node.name;
    ++drawn;
  }
  EXPECT_GT(drawn, 0);
}

}  // namespace
}  // namespace ptrain
