// Groups of parameters: who belongs to which, and what a training graph leaves out for those that are frozen.
#include "core/passes/update/parameter_groups.h"

#include "core/base/name_pattern.h"
#include "core/ops/training/muon_update.h"
#include "core/passes/memory_plan.h"
#include "tests/error_message.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

TEST(ParameterGroups, MatchByStarsAndQuestionMarks) {
  const auto matches = [](const char* pattern, const char* name) { return matches_pattern(pattern, name); };
  EXPECT_TRUE(matches("fc.weight", "fc.weight"));
  EXPECT_TRUE(matches("*", "fc.weight"));
  EXPECT_TRUE(matches("layer?.*.weight", "layer4.0.conv1.weight"));
  EXPECT_TRUE(matches("*.bias", "fc.bias"));
  EXPECT_TRUE(matches("fc*", "fc"));
  EXPECT_FALSE(matches("fc", "fc.weight"));
  EXPECT_FALSE(matches("layer?.*", "layer10.0.conv1.weight"));
  EXPECT_FALSE(matches("*.weight", "fc.bias"));
  EXPECT_FALSE(matches("", "fc"));
  EXPECT_TRUE(matches("!fc.*", "conv1.weight"));
  EXPECT_FALSE(matches("!fc.*", "fc.weight"));
  EXPECT_EQ(pattern_distance("fd.*", "fc.weight"), 1);
  EXPECT_EQ(pattern_distance("abc", ""), 3);
}

TEST(ParameterGroups, AreWhatTheFirstPatternSays) {
  const std::vector<ParameterGroup> groups{{"fc.*"}, {"*.weight", false}, {"fc.weight", false}};
  EXPECT_EQ(find_group(groups, "fc.weight"), 0u);
  EXPECT_EQ(find_group(groups, "conv1.weight"), 1u);
  EXPECT_EQ(find_group(groups, "conv1.weight@bf16"), 1u) << "a copy is of its master's group";
  EXPECT_EQ(find_group(groups, "bn1.bias"), std::nullopt);
  EXPECT_TRUE(is_trainable(groups, "fc.weight"));
  EXPECT_FALSE(is_trainable(groups, "conv1.weight@bf16"));
  EXPECT_TRUE(is_trainable(groups, "bn1.bias"));
}

TEST(ParameterGroups, AreRefusedWhereAPatternMatchesNothing) {
  const Graph graph = resnet_graph(18);
  const auto refused = [&](const std::vector<ParameterGroup>& groups) {
    PipelineOptions options = training_pipeline(AmpLevel::O1);
    options.groups = groups;
    return get_error([&] { build_training_graph(graph, options); }, ExitCode::usage);
  };
  const std::string message = refused({{"fc.wieght"}});
  EXPECT_TRUE(
      message.starts_with("train.groups.match: \"fc.wieght\" matches no parameter of the model; nearest: fc.weight, "))
      << message;
  EXPECT_EQ(refused({{"*", false}}),
            "train.groups.trainable: false for every parameter of the model: nothing is left to train");
}

/// Everything but the last layer frozen.
std::vector<ParameterGroup> head_alone() { return {{"fc.*"}, {"*", false}}; }

std::int64_t get_bytes(const Graph& graph, std::string_view name) {
  const ValueId id = graph.find_value(name);
  return id == no_value ? 0 : static_cast<std::int64_t>(graph.desc(id).bytes());
}

TEST(ParameterGroups, FrozenParametersCostNothingInTheBackwardPass) {
  for (const AmpLevel level : all_levels) {
    SCOPED_TRACE(enum_name(level));
    PipelineOptions options = training_pipeline(level);
    const Graph whole = build_training_graph(resnet_graph(18), options).graph;
    options.groups = head_alone();
    const Graph head = build_training_graph(resnet_graph(18), options).graph;
    auto types = node_types(head);
    EXPECT_EQ(types["conv2d_grad_weight"], 0);
    EXPECT_EQ(types["conv2d_grad_input"], 0);
    EXPECT_EQ(types["batch_norm_grad"], 0);
    EXPECT_EQ(types["linear_grad_input"], 0) << "the backbone needs none";
    EXPECT_EQ(types["linear_grad_weight"], 1);
    EXPECT_EQ(types["conv2d"], node_types(whole)["conv2d"]);
    std::size_t parameters = 0;
    for (const Node& node : head.nodes()) {
      const auto* update = dynamic_cast<const OptimizerUpdate*>(node.op.get());
      if (update != nullptr) parameters += update->segments().size();
    }
    EXPECT_EQ(parameters, 2u);
    for (const char* buffer : {flat::master, flat::moment1, flat::grad}) {
      EXPECT_LE(get_bytes(head, buffer), 16 << 10) << buffer;
      EXPECT_GT(get_bytes(whole, buffer), 16 << 10) << buffer;
    }
    const auto arena = [](const Graph& graph) { return plan_memory(graph, MemoryReuse::on).arena_bytes; };
    EXPECT_LT(arena(head), arena(whole)) << "no activation waits for backward";
    const Value& frozen = head.value(head.find_value("conv1.weight"));
    EXPECT_EQ(frozen.storage, Storage::parameter);
    EXPECT_EQ(frozen.base, no_value) << "a variable by itself";
  }
}

TEST(ParameterGroups, BackwardGoesAsFarDownAsAParameterIsTrained) {
  PipelineOptions options = training_pipeline(AmpLevel::O0);
  options.groups = {{"layer4.*"}, {"fc.*"}, {"*", false}};
  const Graph graph = build_training_graph(resnet_graph(18), options).graph;
  auto types = node_types(graph);
  EXPECT_EQ(types["conv2d_grad_weight"], 5) << "four convolutions and a shortcut";
  EXPECT_EQ(types["conv2d_grad_input"], 3) << "no gradient leaves the last stage";
}

TEST(ParameterGroups, HaveUpdatesOfTheirOwn) {
  PipelineOptions options = training_pipeline(AmpLevel::O2);
  options.optimizer.weight_decay = 0.1f;
  options.groups = {{"fc.*", true, 10.0f}, {"layer1.*", true, 1.0f, 0.0f}, {"bn1.*"}};
  std::map<std::string, const OptimizerUpdate*> updates;
  const Graph graph = build_training_graph(resnet_graph(18), options).graph;
  std::size_t parameters = 0;
  for (const Node& node : graph.nodes()) {
    if (const auto* update = dynamic_cast<const OptimizerUpdate*>(node.op.get())) {
      updates[node.name] = update;
      parameters += update->segments().size();
    }
  }
  ASSERT_EQ(updates.size(), 3u) << "a group without a setting of its own is updated with the others";
  EXPECT_EQ(updates.at("optimizer.group0")->settings().lr_scale, 10.0f);
  EXPECT_EQ(updates.at("optimizer.group0")->settings().weight_decay, 0.1f);
  EXPECT_EQ(updates.at("optimizer.group0")->segments().size(), 2u);
  EXPECT_EQ(updates.at("optimizer.group1")->settings().lr_scale, 1.0f);
  EXPECT_EQ(updates.at("optimizer.group1")->settings().weight_decay, 0.0f);
  EXPECT_EQ(updates.at("optimizer")->settings().weight_decay, 0.1f);
  EXPECT_EQ(updates.at("optimizer")->counted(), UpdateCount::here);
  EXPECT_EQ(updates.at("optimizer.group0")->counted(), UpdateCount::later);
  std::size_t all = 0;
  for (const Value& value : graph.values()) all += value.base == graph.find_value(flat::master);
  EXPECT_EQ(parameters, all);
}

TEST(Muon, UpdatesMatricesOfLayersAndLeavesTheRestToAdamW) {
  for (const AmpLevel level : all_levels) {
    SCOPED_TRACE(enum_name(level));
    PipelineOptions options = training_pipeline(level);
    options.optimizer.kind = OptimizerKind::muon;
    const Graph graph = build_training_graph(bert_graph(), options).graph;
    const std::int64_t all = graph.desc(graph.find_value(flat::master)).count();
    std::int64_t first_of_muon = all, last_of_others = 0;
    std::set<std::string> matrices;
    for (const Node& node : graph.nodes()) {
      if (const auto* muon = dynamic_cast<const MuonUpdate*>(node.op.get())) {
        matrices.insert(node.name);
        first_of_muon = std::min(first_of_muon, muon->attrs().segment.master_offset);
        EXPECT_EQ(muon->attrs().settings.kind, OptimizerKind::muon);
      } else if (const auto* update = dynamic_cast<const OptimizerUpdate*>(node.op.get())) {
        EXPECT_EQ(update->settings().kind, OptimizerKind::adamw);
        for (const ParameterSegment& s : update->segments())
          last_of_others = std::max(last_of_others, s.master_offset + s.count);
      }
    }
    EXPECT_EQ(matrices.size(), 2u * 4 + 2) << "four of each layer, the pooler and the classifier";
    EXPECT_LE(last_of_others, first_of_muon);
    EXPECT_EQ(graph.desc(graph.find_value(flat::moment2)).count(), first_of_muon) << "of AdamW's parameters alone";
    EXPECT_EQ(graph.desc(graph.find_value(flat::moment1)).count(), all);
  }
}

}  // namespace
}  // namespace ptrain
