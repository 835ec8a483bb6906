#include "models/lora.h"

#include "models/text/gpt2.h"
#include "models/text/llama.h"
#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace ptrain {
namespace {

LoraConfig make_lora(std::vector<std::string> targets) {
  LoraConfig lora;
  lora.rank = 4;
  lora.targets = std::move(targets);
  return lora;
}

std::unique_ptr<Model> make_base(LlamaForm form = LlamaForm::llama) {
  return make_llama(llama_spec_of_size(form, "tiny"));
}

std::map<std::string, Shape> list_adapters(const Model& model) {
  std::map<std::string, Shape> adapters;
  for (const WeightMapping& mapping : model.weights()) {
    if (mapping.part == WeightMapping::Part::adapter) adapters[mapping.external] = mapping.external_shape;
  }
  return adapters;
}

TEST(Lora, TargetsAreNamesOrPatternsOfWholeNames) {
  const auto is_target = [](const char* target, const char* layer) { return is_lora_target({target}, layer); };
  EXPECT_TRUE(is_target("q_proj", "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(is_target("self_attn.q_proj", "model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(is_target("proj", "model.layers.0.self_attn.q_proj"));
  EXPECT_TRUE(is_target("model.layers.?.mlp.*", "model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(is_target("*.mlp", "model.layers.1.mlp.up_proj"));
  EXPECT_TRUE(is_target("all-linear", "model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(is_target("all-linear", "lm_head"));
  EXPECT_TRUE(is_target("lm_head", "lm_head"));
}

/// Layers that are one product here have adapters of their own.
TEST(Lora, TensorsHavePeftsNamesAndShapes) {
  const auto adapters = list_adapters(*add_lora(make_base(), make_lora({"q_proj", "v_proj", "down_proj"})));
  ASSERT_EQ(adapters.size(), 2u * 3 * 2);
  EXPECT_EQ(adapters.at("model.layers.1.self_attn.q_proj.lora_A.weight"), (Shape{4, 128}));
  EXPECT_EQ(adapters.at("model.layers.1.self_attn.v_proj.lora_B.weight"), (Shape{64, 4}));
  EXPECT_EQ(adapters.at("model.layers.0.mlp.down_proj.lora_A.weight"), (Shape{4, 384}));
  EXPECT_EQ(list_adapters(*add_lora(make_base(), make_lora({"all-linear"}))).size(), 2u * 7 * 2);
  EXPECT_EQ(list_adapters(*add_lora(make_base(LlamaForm::qwen3), make_lora({"all-linear"}))).size(), 2u * 7 * 2);
  Gpt2Spec gpt2 = gpt2_spec_of_size("tiny");
  const auto transposed = list_adapters(*add_lora(make_gpt2(gpt2), make_lora({"c_attn"})));
  EXPECT_EQ(transposed.at("transformer.h.0.attn.c_attn.lora_B.weight"), (Shape{384, 4}));
}

TEST(Lora, VariablesAreTheSameInEveryModeAndDropoutOnlyInTraining) {
  LoraConfig lora = make_lora({"all-linear"});
  lora.dropout = 0.1;
  const auto model = add_lora(make_base(), lora);
  const auto count = [&](Mode mode, std::string_view type) {
    const Graph graph = model->build({2, {{extent_names::tokens, 64}}}, mode);
    return std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op->type() == type; });
  };
  EXPECT_EQ(count(Mode::training, "dropout"), 2 * 4) << "one for each product: qkv, o, gate and up, down";
  EXPECT_EQ(count(Mode::evaluation, "dropout"), 0);
  EXPECT_EQ(count(Mode::deployment, "dropout"), 0);
  std::map<std::string, Shape> training;
  for (const ModelVariable& v : model->construct({2}, Mode::training).variables) training[v.name] = v.shape;
  for (const ModelVariable& v : model->variables()) EXPECT_EQ(training.at(v.name), v.shape) << v.name;
}

TEST(Lora, StartsLikePeft) {
  for (const ModelVariable& variable : add_lora(make_base(), make_lora({"all-linear"}))->variables()) {
    if (variable.name.ends_with("lora_A.weight")) {
      EXPECT_EQ(variable.initializer.kind, Initializer::Kind::uniform);
      EXPECT_FLOAT_EQ(variable.initializer.value, 1 / std::sqrt(static_cast<float>(variable.shape[1])));
    } else if (variable.name.ends_with("lora_B.weight")) {
      EXPECT_EQ(variable.initializer.kind, Initializer::Kind::constant);
      EXPECT_EQ(variable.initializer.value, 0);
    }
  }
}

TEST(Lora, ScalesByRankOrItsRoot) {
  LoraConfig lora = make_lora({"all-linear"});
  EXPECT_EQ(lora.scale(), 2);
  lora.rslora = true;
  EXPECT_EQ(lora.scale(), 4);
}

TEST(Lora, ATargetWithoutLayersIsRefused) {
  const auto refused = [](std::vector<std::string> targets) {
    return get_error([&] { add_lora(make_base(), make_lora(std::move(targets))); }, ExitCode::usage);
  };
  EXPECT_EQ(
      refused({"q_proj", "c_attn"}),
      "model.lora.targets: \"c_attn\" matches no linear layer of llama: expected all-linear, or some of down_proj, "
      "gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj");
  EXPECT_NE(refused({"embed_tokens"}).find("matches no linear layer"), std::string::npos) << "a tied head";
}

}  // namespace
}  // namespace ptrain
