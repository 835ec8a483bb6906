// Deployed graphs that read weights in blocks: which layers do, and which variables are left.
#include "core/passes/block_weights.h"

#include "core/base/name_pattern.h"
#include "core/data/tensor_names.h"
#include "core/model/adapter_names.h"
#include "core/ops/linear.h"
#include "core/ops/quantization/block_linear.h"
#include "models/lora.h"
#include "models/text/gpt2.h"
#include "models/text/llama.h"
#include "tests/unit/passes/example_models.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

PipelineOptions in_format(BlockFormat format, AmpLevel level = AmpLevel::O0) {
  PipelineOptions options;
  options.amp = amp_options(level);
  options.block_weights = [format](std::string_view) { return std::optional(format); };
  return options;
}

Graph deployed(const Graph& graph, const PipelineOptions& options) {
  return build_deployed_graph(graph, {tensor_names::logits}, options).graph;
}

bool has(const Graph& graph, std::string_view value) { return graph.find_value(value) != no_value; }

LlamaSpec llama_spec(bool tied, std::int64_t hidden = 128) {
  LlamaSpec spec = llama_spec_of_size(LlamaForm::llama, "tiny");
  spec.vocab_size = 100;
  spec.hidden = hidden;
  spec.tied = tied;
  return spec;
}

Graph llama_graph(bool tied, std::int64_t hidden = 128) {
  return make_llama(llama_spec(tied, hidden))->build(2, Mode::evaluation);
}

TEST(BlockWeightsPass, EveryLayerOfALlamaReadsBlocks) {
  const std::string table = "model.embed_tokens.weight";
  for (const bool tied : {true, false}) {
    const Graph graph = deployed(llama_graph(tied), in_format(BlockFormat::q4_1));
    const std::map<std::string, int> types = node_types(graph);
    EXPECT_EQ(types.at("block_linear"), 2 * 4 + 1);
    EXPECT_EQ(types.at("block_embedding"), 1);
    EXPECT_FALSE(types.contains("linear") || types.contains("embedding"));
    EXPECT_FALSE(has(graph, table));
    const ValueId blocks = graph.find_value(table + "@q4_1");
    ASSERT_NE(blocks, no_value);
    EXPECT_EQ(graph.desc(blocks), (TensorDesc{DType::u8, Shape{100, 128 / 32 * 20}}));
    EXPECT_EQ(has(graph, "lm_head.weight@q4_1"), !tied);
  }
}

TEST(BlockWeightsPass, RowsWithoutWholeBlocksStayInFull) {
  const std::map<std::string, int> types = node_types(deployed(llama_graph(true, 48), in_format(BlockFormat::q8_0)));
  EXPECT_EQ(types.at("block_linear"), 2 * 2) << "from attention and feed-forward, whose widths are multiples of 32";
  EXPECT_EQ(types.at("linear"), 2 * 2 + 1);
  EXPECT_EQ(types.at("embedding"), 1);
}

TEST(BlockWeightsPass, AParameterStaysWhereFormatsLeaveItOut) {
  PipelineOptions options;
  options.block_weights = [](std::string_view name) {
    return name.starts_with("lm_head") ? std::nullopt : std::optional(BlockFormat::q8_0);
  };
  const Graph graph = deployed(llama_graph(false), options);
  EXPECT_TRUE(has(graph, "lm_head.weight"));
  EXPECT_EQ(node_types(graph).at("linear"), 1);
}

TEST(BlockWeightsPass, ATableThatOtherOpsReadIsThereInBothForms) {
  Gpt2Spec spec = gpt2_spec_of_size("tiny");
  spec.vocab_size = 100;
  const Graph graph = deployed(make_gpt2(spec)->build(2, Mode::evaluation), in_format(BlockFormat::q8_0));
  const std::map<std::string, int> types = node_types(graph);
  EXPECT_EQ(types.at("block_linear"), 2 * 4 + 1);
  EXPECT_EQ(types.at("bert_embedding"), 1);
  EXPECT_EQ(types.at("gelu"), 2) << "activations follow their layers";
  EXPECT_TRUE(has(graph, "transformer.wte.weight") && has(graph, "transformer.wte.weight@q8_0"));
}

/// Layers and table of a Llama whose adapters train; the head's weights are read by the loss, or are the table too.
TEST(BlockWeightsPass, FrozenLayersAreDifferentiatedInBlocks) {
  for (const bool tied : {true, false}) {
    for (const AmpLevel level : all_levels) {
      SCOPED_TRACE(fmt::format("tied: {}, {}", tied, enum_name(level)));
      PipelineOptions options = training_pipeline(level);
      const auto is_frozen = [](std::string_view name) { return matches_pattern(adapter_names::all_others, name); };
      options.block_weights = [&](std::string_view name) {
        return is_frozen(name) ? std::optional(BlockFormat::q8_0) : std::nullopt;
      };
      options.amp.frozen = is_frozen;
      options.groups = {{adapter_names::all_others, false}};
      LoraConfig lora;
      lora.rank = 4;
      const std::unique_ptr<Model> model = add_lora(make_llama(llama_spec(tied)), lora);
      const Graph graph = build_training_graph(with_losses(*model, 2, Mode::training, "language_model"), options).graph;
      const std::map<std::string, int> types = node_types(graph);
      EXPECT_EQ(types.at("block_linear"), 2 * 4);
      EXPECT_EQ(types.at("block_linear_grad_input"), 2 * 4 - 1) << "no adapter is before the first";
      EXPECT_EQ(types.contains("block_embedding"), !tied);
      const std::string head = tied ? "model.embed_tokens.weight" : "lm_head.weight";
      EXPECT_TRUE(has(graph, head) || has(graph, head + "@bf16"));
      EXPECT_FALSE(has(graph, head + "@q8_0"));
      EXPECT_FALSE(has(graph, "model.layers.0.mlp.down_proj.weight"));
    }
  }
}

TEST(BlockWeightsPass, LayersComputeInFp32AtEveryAmpLevel) {
  for (const AmpLevel level : all_levels) {
    const Graph graph = deployed(llama_graph(true), in_format(BlockFormat::q8_0, level));
    for (const Node& node : graph.nodes()) {
      if (node.op->type() != "block_linear") continue;
      EXPECT_EQ(graph.desc(node.inputs[BlockLinear::x]).dtype, DType::f32) << node.name;
    }
  }
}

TEST(BlockWeightsPass, NamesAreReadBack) {
  const auto found = find_block_weights(block_weights_name("layer.weight", BlockFormat::q4_0));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->parameter, "layer.weight");
  EXPECT_EQ(found->format, BlockFormat::q4_0);
  for (const char* other : {"layer.weight", "layer.weight@bf16", "layer.weight@s8.scale", ""}) {
    EXPECT_FALSE(find_block_weights(other)) << other;
  }
}

}  // namespace
}  // namespace ptrain
