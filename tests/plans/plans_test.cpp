// Every convolution, batch norm and attention of the models has plans in cuDNN for an H200, which is described, not
// there: the graphs are well formed, supported, and within their workspace.
#include "core/base/clock.h"
#include "core/cuda/kernels/attention/attention_graphs.h"
#include "core/cuda/kernels/batch_norm/batch_norm_graphs.h"
#include "core/cuda/kernels/conv2d/convolution.h"
#include "core/cuda/kernels/conv2d_batch_norm/conv_batch_norm.h"
#include "core/data/tensor_names.h"
#include "core/passes/pipeline.h"
#include "core/tasks/task_registry.h"
#include "models/model_registry.h"
#include "models/text/bert.h"
#include "models/text/gpt2.h"
#include "models/vision/resnet.h"
#include "tests/case_name.h"
#include "tests/described_gpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace ptrain::cuda {
namespace {

CudnnTarget target() { return CudnnTarget::described(described_h200, 90); }

EngineRules rules(DType dtype, std::size_t workspace_mib) {
  return {is_low_precision(dtype), /*deterministic=*/false, workspace_mib << 20};
}

constexpr std::size_t unbounded_mib = std::size_t{1} << 40;

Graph training_graph(const Model& model, std::int64_t batch, AmpLevel level, DType low, Fusion fusion = Fusion::full) {
  PipelineOptions options;
  options.fusion = fusion;
  options.amp.level = level;
  options.amp.dtype = low;
  options.decays = [](std::string_view, const Shape&) { return true; };
  const auto task = make_task(find_model(model.name()).tasks.front());
  return build_training_graph(build_with_losses(model, *task, batch, Mode::training).graph, options).graph;
}

/// cuDNN's graph of a node; empty for ops that do not go through one.
std::optional<CudnnGraph> get_graph(const Graph& graph, const Node& node) {
  const std::vector<TensorDesc> in = graph.input_descs(node), out = graph.output_descs(node);
  const std::string_view type = node.op->type();
  if (type == "conv2d") {
    const auto& op = static_cast<const Conv2d&>(*node.op);
    const ConvolutionTail tail{has_input(in, Conv2d::bias), has_input(in, Conv2d::residual),
                               op.activation() == Activation::relu};
    return convolution_graph(target(), op.attrs(), in[0], in[1], out[0], tail);
  }
  if (type == "conv2d_grad_input") {
    const auto& attrs = static_cast<const Conv2dGradInput&>(*node.op).attrs();
    return convolution_grad_input_graph(target(), attrs.conv, in[0], in[1], out[0]);
  }
  if (type == "conv2d_grad_weight") {
    const auto& attrs = static_cast<const Conv2dGradWeight&>(*node.op).attrs();
    return convolution_grad_weight_graph(target(), attrs.conv, in[0], in[1], out[0]);
  }
  if (type == "conv2d_batch_norm") {
    const bool has_prologue = !is_absent(in[Conv2dBatchNorm::scale]);
    const auto& attrs = static_cast<const Conv2dBatchNorm&>(*node.op).attrs();
    return conv_batch_norm_graph(target(), attrs, in[0], in[1], out[0], has_prologue);
  }
  if (type == "conv2d_batch_norm_grad_input") {
    const auto& attrs = static_cast<const Conv2dBatchNormGradInput&>(*node.op).attrs();
    return conv_batch_norm_grad_input_graph(target(), attrs, in[0], in[1], in[Conv2dBatchNormGradInput::x]);
  }
  if (type == "conv2d_batch_norm_grad_weight") {
    const auto& attrs = static_cast<const Conv2dBatchNormGradWeight&>(*node.op).attrs();
    return conv_batch_norm_grad_weight_graph(target(), attrs.conv, in[0], in[1], out[0]);
  }
  if (type == "batch_norm") {
    const bool residual = in.size() > BatchNorm::residual && !is_absent(in[BatchNorm::residual]);
    return batch_norm_graph(target(), static_cast<const BatchNorm&>(*node.op).attrs(), in[BatchNorm::x], residual);
  }
  if (type == "batch_norm_grad") {
    return batch_norm_grad_graph(target(), static_cast<const BatchNormGrad&>(*node.op).attrs(), in[BatchNormGrad::x]);
  }
  if (type == "attention") {
    const auto& attrs = static_cast<const Attention&>(*node.op).attrs();
    return attention_graph(target(), {attrs, in}, attrs);
  }
  if (type == "attention_grad") {
    const auto& attrs = static_cast<const AttentionGrad&>(*node.op).attrs();
    return attention_grad_graph(target(), {attrs, in}, attrs, /*deterministic=*/true);
  }
  return std::nullopt;
}

std::string describe(const Graph& graph, const Node& node) {
  std::string text = fmt::format("{} {}", node.op->type(), node.op->attributes());
  for (const TensorDesc& desc : graph.input_descs(node)) text += fmt::format(" {}", desc.to_string());
  return text;
}

bool builds_any(CudnnGraph& graph) {
  for (std::size_t i = 0; i < graph.plan_names().size(); ++i) {
    if (graph.build(i)) return true;
  }
  return false;
}

/// Checks each different problem among the nodes whose type begins with `prefix`; returns how many there are.
std::size_t check_nodes(const Graph& graph, std::string_view prefix, std::size_t workspace_mib, bool compile) {
  std::set<std::string> seen;
  for (const Node& node : graph.nodes()) {
    if (!node.op->type().starts_with(prefix) || !seen.insert(describe(graph, node)).second) continue;
    std::optional<CudnnGraph> planned = get_graph(graph, node);
    EXPECT_TRUE(planned.has_value()) << describe(graph, node);
    if (!planned) continue;
    const auto reason = planned->plan(rules(graph.input_descs(node)[0].dtype, workspace_mib));
    EXPECT_FALSE(reason.has_value()) << describe(graph, node) << ": " << reason.value_or("");
    EXPECT_FALSE(planned->plan_names().empty()) << describe(graph, node);
    EXPECT_TRUE(!compile || builds_any(*planned)) << describe(graph, node);
  }
  return seen.size();
}

ResNetSpec resnet50() {
  ResNetSpec spec;
  spec.depth = 50;
  spec.classes = 1000;
  spec.image_size = 224;
  return spec;
}

/// One layer of BERT-base, with dropout.
BertSpec bert_base_layer(std::int64_t length, Padding padding) {
  BertSpec spec;
  spec.layers = 1;
  spec.hidden = 768;
  spec.heads = 12;
  spec.intermediate = 3072;
  spec.vocab_size = 1000;
  spec.max_positions = 512;
  spec.classes = 2;
  spec.max_length = length;
  spec.padding = padding;
  spec.dropout = 0.1f;
  return spec;
}

class ResNetPlans : public ::testing::TestWithParam<DType> {
 protected:
  static Graph graph(std::int64_t batch = 32) {
    const ResNetSpec spec = resnet50();
    const auto level = GetParam() == DType::f32 ? AmpLevel::O0 : AmpLevel::O1;
    return training_graph(*make_resnet(spec), batch, level, GetParam());
  }
};

TEST_P(ResNetPlans, EveryConvolutionCompilesWithinTheWorkspaceLimit) {
  EXPECT_GT(check_nodes(graph(), "conv2d", 512, /*compile=*/true), 60u);
}

/// With bias, residual and ReLU.
TEST_P(ResNetPlans, ADeployedConvolutionIsOneOperation) {
  PipelineOptions options;
  options.amp.level = GetParam() == DType::f32 ? AmpLevel::O0 : AmpLevel::O2;
  options.amp.dtype = GetParam();
  const Graph graph =
      build_deployed_graph(make_resnet(resnet50())->build(32, Mode::deployment), {tensor_names::logits}, options).graph;
  EXPECT_GT(check_nodes(graph, "conv2d", 512, /*compile=*/true), 20u);
}

TEST_P(ResNetPlans, EveryBatchNormHasAPersistentPlan) {
  EXPECT_GT(check_nodes(graph(), "batch_norm", unbounded_mib, /*compile=*/GetParam() == DType::f16), 20u);
}

/// Planned, not compiled: which batch it is decides which engines take a problem.
TEST_P(ResNetPlans, AreThereAtEveryBatch) {
  const Stopwatch watch;
  for (const std::int64_t batch : {64, 128, 256, 400}) {
    SCOPED_TRACE(batch);
    EXPECT_GT(check_nodes(graph(batch), "conv2d", 512, /*compile=*/false), 60u);
    EXPECT_GT(check_nodes(graph(batch), "batch_norm", unbounded_mib, /*compile=*/false), 20u);
  }
  RecordProperty("seconds", fmt::format("{:.1f}", watch.seconds()));
}

INSTANTIATE_TEST_SUITE_P(Dtypes, ResNetPlans, ::testing::Values(DType::f16, DType::bf16, DType::f32),
                         testing::case_name);

/// In fp16, where cuDNN has them; the stem's convolution, of four channels, is the one it has not.
TEST(ConvBatchNormPlans, AllOfResNetButTheStemAreFused) {
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    const Graph graph = training_graph(*make_resnet(resnet50()), 32, level, DType::f16, Fusion::always);
    int fused = 0, separate = 0;
    for (const Node& node : graph.nodes()) {
      if (!node.op->type().starts_with("conv2d_batch_norm")) continue;
      std::optional<CudnnGraph> planned = get_graph(graph, node);
      const auto reason = planned->plan(rules(DType::f16, 512));
      ++(reason ? separate : fused);
      EXPECT_TRUE(reason || builds_any(*planned)) << describe(graph, node);
      EXPECT_EQ(reason.has_value(), graph.input_descs(node)[0].shape[-1] == 4) << describe(graph, node);
    }
    EXPECT_EQ(separate, 1);
    EXPECT_EQ(fused, 52 + 32 + 32);
  }
}

/// The graphs that a convolution's kernel is made of where cuDNN has no plan for all of it: without what follows, or
/// with a weight gradient in the data's dtype.
CudnnGraph get_plain_graph(const Graph& graph, const Node& node) {
  const std::vector<TensorDesc> in = graph.input_descs(node), out = graph.output_descs(node);
  if (node.op->type() == "conv2d_grad_weight") {
    const auto& attrs = static_cast<const Conv2dGradWeight&>(*node.op).attrs();
    return convolution_grad_weight_graph(target(), attrs.conv, in[0], in[1], {in[0].dtype, out[0].shape});
  }
  return convolution_graph(target(), static_cast<const Conv2d&>(*node.op).attrs(), in[0], in[1], out[0], {});
}

class ImagePlans : public ::testing::TestWithParam<std::string> {};

/// Grouped, depthwise and narrow ones too; planned, not compiled.
TEST_P(ImagePlans, EveryConvolutionHasAPlanOneWayOrAnother) {
  Config config;
  config.model.entry = find_model(GetParam());
  const DatasetInfo data = described_data(find_model(GetParam()));
  config.model.classes = data.classes;
  const Graph graph = training_graph(*make_model(config, data), 16, AmpLevel::O1, DType::bf16);
  std::set<std::string> seen;
  for (const Node& node : graph.nodes()) {
    if (!node.op->type().starts_with("conv2d") || node.op->type() == "conv2d_grad_bias") continue;
    if (!seen.insert(describe(graph, node)).second) continue;
    std::optional<CudnnGraph> planned = get_graph(graph, node);
    ASSERT_TRUE(planned.has_value()) << describe(graph, node);
    if (!planned->plan(rules(DType::bf16, 512))) continue;
    ASSERT_NE(node.op->type(), "conv2d_grad_input") << describe(graph, node);
    CudnnGraph plain = get_plain_graph(graph, node);
    const auto reason = plain.plan(rules(DType::bf16, 512));
    EXPECT_FALSE(reason.has_value()) << describe(graph, node) << ": " << reason.value_or("");
  }
}

std::vector<std::string> image_models() {
  std::vector<std::string> names;
  for (const ModelEntry& entry : model_entries()) {
    if (described_data(entry).kind == DataKind::image) names.emplace_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, ImagePlans, ::testing::ValuesIn(image_models()), testing::case_name);

/// With dropout that cuDNN draws, and with a mask.
class BertPlans : public ::testing::TestWithParam<DType> {
 protected:
  static void check(const Model& model, std::int64_t batch) {
    const Graph graph = training_graph(model, batch, AmpLevel::O1, GetParam());
    EXPECT_EQ(check_nodes(graph, "attention", unbounded_mib, /*compile=*/GetParam() == DType::f16), 2u);
  }
};

constexpr std::array flash_forms{AttentionAlgorithm::flash, AttentionAlgorithm::flash_mask};

TEST_P(BertPlans, AttentionHasFlashPlansWithPaddingAndDropout) {
  for (const AttentionAlgorithm form : flash_forms) {
    for (const Padding padding : {Padding::max_length, Padding::none}) {
      for (const std::int64_t length : {64, 128, 192, 384, 512}) {
        SCOPED_TRACE(fmt::format("{} {} {}", enum_name(form), enum_name(padding), length));
        BertSpec spec = bert_base_layer(length, padding);
        spec.attention = form;
        check(*make_bert(spec), 16);
        if (length != 384) continue;
        spec.hidden = 1024, spec.heads = 16, spec.intermediate = 4096;  // BERT-large's
        check(*make_bert(spec), 64);
      }
    }
  }
}

TEST_P(BertPlans, CausalAttentionHasFlashPlans) {
  for (const AttentionAlgorithm form : flash_forms) {
    SCOPED_TRACE(enum_name(form));
    Gpt2Spec spec;
    spec.layers = 1;
    spec.vocab_size = 1000;
    spec.attention = form;
    check(*make_gpt2(spec), 8);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, BertPlans, ::testing::Values(DType::f16, DType::bf16), testing::case_name);

/// Shapes of the op tests: few channels, groups, weights in another dtype than the data.
TEST(ConvolutionPlans, OddShapesCompile) {
  const Conv2dAttributes grouped{2, 1, 2, 1};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const TensorDesc x{dtype, Shape{2, 9, 9, 6}}, w{DType::f32, Shape{10, 3, 3, 3}}, y{dtype, Shape{2, 5, 5, 10}};
    CudnnGraph forward = convolution_graph(target(), grouped, x, w, y);
    CudnnGraph data = convolution_grad_input_graph(target(), grouped, y, w, x);
    CudnnGraph weight = convolution_grad_weight_graph(target(), grouped, x, y, {dtype, w.shape});
    for (CudnnGraph* graph : {&forward, &data, &weight}) {
      const auto reason = graph->plan(rules(dtype, 512));
      EXPECT_FALSE(reason.has_value()) << to_string(dtype) << ": " << reason.value_or("");
      EXPECT_TRUE(builds_any(*graph)) << to_string(dtype);
    }
  }
}

TEST(ConvolutionPlans, NoWorkspaceLeavesOnlyPlansWithoutOne) {
  const TensorDesc x{DType::f16, Shape{8, 56, 56, 64}}, w{DType::f16, Shape{64, 3, 3, 64}};
  CudnnGraph graph = convolution_graph(target(), {1, 1, 1, 1}, x, w, x);
  ASSERT_FALSE(graph.plan({true, false, 0}).has_value());
  std::size_t built = 0;
  for (std::size_t i = 0; i < graph.plan_names().size(); ++i) {
    if (!graph.build(i)) continue;
    ++built;
    EXPECT_EQ(graph.workspace_bytes(i), 0u) << graph.plan_names()[i];
  }
  EXPECT_GT(built, 0u);
  EXPECT_LT(built, graph.plan_names().size());
}

TEST(ConvolutionPlans, Fp32WithoutTf32TakesOtherEngines) {
  const TensorDesc x{DType::f32, Shape{8, 56, 56, 64}}, w{DType::f32, Shape{64, 3, 3, 64}};
  const auto count = [&](bool tensor_cores) {
    CudnnGraph graph = convolution_graph(target(), {1, 1, 1, 1}, x, w, x);
    graph.plan({tensor_cores, false, std::size_t{512} << 20});
    std::size_t built = 0;
    for (std::size_t i = 0; i < graph.plan_names().size(); ++i) built += graph.build(i) ? 1 : 0;
    return built;
  };
  const std::size_t exact = count(false), with_tf32 = count(true);
  EXPECT_GT(exact, 0u);
  EXPECT_LT(exact, with_tf32);
}

/// cuDNN compiles these from source; a plan that was compiled before brings its code along.
TEST(SavedPlans, AreRestoredWithoutCompiling) {
  const auto resnet = make_resnet(resnet50());
  const Graph apart = training_graph(*resnet, 32, AmpLevel::O1, DType::f16);
  const Graph fused = training_graph(*resnet, 32, AmpLevel::O1, DType::f16, Fusion::always);
  const Graph bert = training_graph(*make_bert(bert_base_layer(128, Padding::none)), 16, AmpLevel::O1, DType::f16);
  for (const auto& [graph, type] :
       std::initializer_list<std::pair<const Graph*, const char*>>{{&apart, "batch_norm"},
                                                                   {&apart, "batch_norm_grad"},
                                                                   {&fused, "conv2d_batch_norm_grad_input"},
                                                                   {&bert, "attention"},
                                                                   {&bert, "attention_grad"}}) {
    SCOPED_TRACE(type);
    const auto& nodes = graph->nodes();
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.op->type() == type; });
    ASSERT_NE(node, nodes.end());
    CudnnGraph compiled = *get_graph(*graph, *node), restored = *get_graph(*graph, *node);
    EXPECT_EQ(compiled.structure(), restored.structure());
    const Stopwatch watch;
    ASSERT_FALSE(compiled.plan(rules(DType::f16, unbounded_mib)).has_value());
    ASSERT_TRUE(compiled.build(0));
    const double compiling = watch.seconds();
    const std::vector<std::uint8_t> saved = compiled.save();
    const Stopwatch again;
    ASSERT_TRUE(restored.restore(compiled.plan_names()[0], saved));
    EXPECT_LT(again.seconds(), 0.5 * compiling);
    ASSERT_EQ(restored.plan_names().size(), 1u);
    EXPECT_EQ(restored.plan_names()[0], compiled.plan_names()[0]);
    EXPECT_EQ(restored.workspace_bytes(0), compiled.workspace_bytes(0));
    EXPECT_EQ(restored.bound().size(), compiled.bound().size());
    EXPECT_FALSE(restored.restore(compiled.plan_names()[0], {1, 2, 3}));
  }
}

TEST(DescribedGpu, IsRefusedWhenItIsNone) { EXPECT_THROW(CudnnTarget::described("{}", 90), std::runtime_error); }

}  // namespace
}  // namespace ptrain::cuda
