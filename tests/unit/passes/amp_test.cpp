// Which ops compute in which precision on the real models, per Paddle's lists.
#include "core/passes/amp.h"

#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/text/embedding.h"
#include "core/passes/fuse.h"
#include "tests/error_message.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

using Precisions = std::map<std::string, std::set<DType>>;
constexpr DType f32 = DType::f32;

/// The precisions that each node type computes in: of the first floating input that the op lets AMP cast.
Precisions precisions(const Graph& graph) {
  Precisions result;
  for (const Node& node : graph.nodes()) {
    if (node.op->type() == "cast") continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == no_value || !is_floating(graph.desc(id).dtype) || !node.op->amp_casts_input(static_cast<int>(i)))
        continue;
      result[std::string(node.op->type())].insert(graph.desc(id).dtype);
      break;
    }
  }
  return result;
}

/// That all nodes of a type compute in one precision.
std::set<DType> only(DType dtype) { return {dtype}; }

TEST(Amp, O0ChangesNothing) {
  for (const NamedGraph& model : all_models()) {
    const AmpResult result = apply_amp(model.graph, amp_options(AmpLevel::O0));
    EXPECT_EQ(print(result.graph), print(model.graph)) << model.name;
    EXPECT_EQ(result.summary.casts, 0);
  }
}

TEST(Amp, O1ComputesWhiteOpsOfResNetLow) {
  for (const DType low : {DType::bf16, DType::f16}) {
    const AmpResult result = apply_amp(fuse(resnet_graph(50, 64)), amp_options(AmpLevel::O1, low));
    verify(result.graph);
    const Precisions expected{{"conv2d", {low}}, {"batch_norm", {low}},          {"max_pool2d", {low}},
                              {"linear", {low}}, {"global_average_pool", {low}}, {"softmax_cross_entropy", {f32}}};
    EXPECT_EQ(precisions(result.graph), expected);
    EXPECT_EQ(result.summary.casts, 2) << "the images down, the logits up";
  }
}

TEST(Amp, O1ComputesWhiteOpsOfBertLowAndBlackOnesInFp32) {
  const DType low = DType::bf16;
  const AmpResult result = apply_amp(fuse(bert_graph()), amp_options(AmpLevel::O1));
  verify(result.graph);
  // Dropout is grey: one follows the fp32 embeddings, one the low classifier.
  const Precisions expected{
      {"dropout", {f32, low}},           {"bert_embedding", {f32}}, {"layer_norm", {f32}},
      {"dropout_add_layer_norm", {f32}}, {"linear", {low}},         {"attention", {low}},
      {"gather_token", {f32}},           {"tanh", {low}},           {"softmax_cross_entropy", {f32}}};
  EXPECT_EQ(precisions(result.graph), expected);
}

TEST(Amp, O2ComputesAllOfBertLowButTheEmbedding) {
  const DType low = DType::bf16;
  const AmpResult result = apply_amp(fuse(bert_graph()), amp_options(AmpLevel::O2));
  verify(result.graph);
  const Precisions expected{{"bert_embedding", {f32}}, {"layer_norm", {low}}, {"dropout_add_layer_norm", {low}},
                            {"linear", {low}},         {"attention", {low}},  {"gather_token", {low}},
                            {"tanh", {low}},           {"dropout", {low}},    {"softmax_cross_entropy", {low}}};
  EXPECT_EQ(precisions(result.graph), expected);
}

TEST(Amp, UnfusedOpsFallInTheSameClasses) {
  Precisions o1 = precisions(apply_amp(bert_graph(), amp_options(AmpLevel::O1)).graph);
  EXPECT_EQ(o1["layer_norm"], only(f32));
  EXPECT_EQ(o1["gelu"], only(DType::bf16)) << "grey, after a white op";
  EXPECT_EQ(o1["linear"], only(DType::bf16));
  Precisions o2 = precisions(apply_amp(resnet_graph(18), amp_options(AmpLevel::O2)).graph);
  for (const char* type : {"conv2d", "batch_norm", "relu", "add", "linear"})
    EXPECT_EQ(o2[type], only(DType::bf16)) << type;
}

TEST(Amp, NeverCastsAValueTwiceAndCountsItsCasts) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      const AmpResult result = apply_amp(fuse(model.graph), amp_options(level));
      std::set<std::pair<ValueId, DType>> casts;
      int nodes = 0;
      for (const Node& node : result.graph.nodes()) {
        if (node.op->type() != "cast") continue;
        ++nodes;
        const DType to = result.graph.desc(node.outputs[0]).dtype;
        EXPECT_TRUE(casts.emplace(node.inputs[0], to).second) << model.name << ": " << node.name;
        EXPECT_NE(result.graph.desc(node.inputs[0]).dtype, to) << node.name;
      }
      EXPECT_EQ(nodes, result.summary.casts);
    }
  }
}

TEST(Amp, O1CastsDataButNoWeights) {
  const AmpResult result = apply_amp(fuse(resnet_graph(50, 64)), amp_options(AmpLevel::O1));
  verify(result.graph);
  EXPECT_EQ(result.summary.casts, 2);
}

TEST(Amp, O1CastsAWeightThatIsReadInFp32Too) {
  Graph graph;
  const ValueId x = graph.add_input("x", {f32, Shape{4, 8}});
  const ValueId w = graph.add_value("w", {f32, Shape{8, 8}}, Storage::parameter);
  const ValueId y = graph.add("y", std::make_shared<Linear>(LinearAttributes{}), {x, w, no_value});
  graph.set_output("norm", graph.add("norm", std::make_shared<Add>(), {w, w}));
  graph.set_output("y", y);
  const AmpResult result = apply_amp(graph, amp_options(AmpLevel::O1));
  verify(result.graph);
  EXPECT_EQ(result.summary.casts, 2) << "x and w";
  EXPECT_EQ(result.graph.find_value("w@bf16"), no_value);
}

TEST(Amp, O2CastsATableThatIsLookedUpAndMultipliedWith) {
  Graph graph;
  const ValueId ids = graph.add_input("ids", {DType::i32, Shape{4}});
  const ValueId w = graph.add_value("w", {f32, Shape{8, 8}}, Storage::parameter);
  const ValueId x = graph.add("x", std::make_shared<Embedding>(), {ids, w});
  graph.set_output("y", graph.add("y", std::make_shared<Linear>(), {x, w}));
  const AmpResult result = apply_amp(graph, amp_options(AmpLevel::O2));
  verify(result.graph);
  EXPECT_EQ(result.summary.casts, 2) << "x and w";
  EXPECT_EQ(result.graph.find_value("w@bf16"), no_value) << "two copies would be trained apart";
}

TEST(Amp, GivesEveryLowParameterAnUnreadFp32Master) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
      const Graph graph = apply_amp(fuse(model.graph), amp_options(level)).graph;
      std::set<ValueId> read;
      for (const Node& node : graph.nodes()) read.insert(node.inputs.begin(), node.inputs.end());
      int low = 0;
      for (const Value& value : graph.values()) {
        if (value.storage != Storage::parameter || value.desc.dtype == f32) continue;
        ++low;
        ASSERT_TRUE(value.name.ends_with("@bf16")) << value.name;
        const ValueId master = graph.find_value(value.name.substr(0, value.name.size() - 5));
        ASSERT_NE(master, no_value) << value.name;
        EXPECT_EQ(graph.desc(master), (TensorDesc{f32, value.desc.shape}));
        EXPECT_EQ(graph.value(master).storage, Storage::parameter);
        EXPECT_FALSE(read.contains(master)) << value.name << ": its master is read";
      }
      const int matrices = model.name == "resnet18" ? 21 : model.name == "resnet50" ? 54 : 10;
      EXPECT_EQ(low, matrices) << model.name << ": the weights of convolutions and linear layers";
    }
  }
}

TEST(Amp, NormParametersStayFp32) {
  for (const NamedGraph& model : all_models()) {
    for (const AmpLevel level : all_levels) {
      for (const DType dtype : {DType::bf16, DType::f16}) {
        const Graph graph = apply_amp(fuse(model.graph), amp_options(level, dtype)).graph;
        for (const Node& node : graph.nodes()) {
          if (node.op->type().find("norm") == std::string_view::npos) continue;
          for (const ValueId id : node.inputs) {
            if (id == no_value || graph.value(id).storage == Storage::activation) continue;
            EXPECT_FALSE(is_low_precision(graph.desc(id).dtype)) << graph.value(id).name;
          }
        }
      }
    }
  }
}

TEST(Amp, CustomBlackListKeepsAnOpInFp32AtBothLevels) {
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    AmpOptions options = amp_options(level);
    options.custom_black = {"linear"};
    const Graph graph = apply_amp(fuse(bert_graph()), options).graph;
    verify(graph);
    Precisions actual = precisions(graph);
    EXPECT_EQ(actual["linear"], only(f32));
    EXPECT_EQ(actual["attention"], only(DType::bf16));
  }
}

TEST(Amp, CustomWhiteListOfTheGlueRecipeLowersNormsFusedOrNot) {
  AmpOptions options = amp_options(AmpLevel::O1);
  options.custom_white = {"layer_norm", "softmax", "gelu"};
  Precisions fused = precisions(apply_amp(fuse(bert_graph()), options).graph);
  EXPECT_EQ(fused["layer_norm"], only(DType::bf16));
  EXPECT_EQ(fused["dropout_add_layer_norm"], only(DType::bf16));
  EXPECT_EQ(fused["softmax_cross_entropy"], only(f32));
  Precisions unfused = precisions(apply_amp(bert_graph(), options).graph);
  EXPECT_EQ(unfused["layer_norm"], only(DType::bf16));
  EXPECT_EQ(unfused["gelu"], only(DType::bf16));
}

TEST(Amp, NamesOfListsThatNoNodeHasAreFound) {
  AmpOptions options = amp_options(AmpLevel::O1);
  options.custom_white = {"gelu", "layer_nrom"};
  options.custom_black = {"linear"};
  EXPECT_EQ(apply_amp(bert_graph(), options).summary.absent, std::vector<std::string>{"layer_nrom"});
}

TEST(Amp, AListNamesNoOpThatComputesInFp32Alone) {
  AmpOptions options = amp_options(AmpLevel::O1);
  options.custom_white = {"bert_embedding"};
  const std::string message = get_error([&] { apply_amp(bert_graph(), options); }, ExitCode::usage);
  EXPECT_NE(message.find("amp.custom_white_list: bert_embedding computes in fp32 alone"), std::string::npos) << message;
}

TEST(Amp, CountsNodesByPrecision) {
  const AmpResult result = apply_amp(fuse(resnet_graph(18)), amp_options(AmpLevel::O1));
  EXPECT_EQ(result.summary.low_nodes, 20 + 1 + 1) << "convolutions, pooling, classifier";
  EXPECT_EQ(result.summary.fp32_nodes, 1) << "the loss";
}

}  // namespace
}  // namespace ptrain
