#include "models/text/llama.h"

#include "core/data/factory.h"
#include "core/io/atomic_file.h"
#include "models/model_registry.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/written_gguf.h"

#include <gtest/gtest.h>

#include <limits>

namespace ptrain {
namespace {

std::int64_t get_parameters(LlamaForm form, std::string_view size, std::int64_t vocab_size) {
  LlamaSpec spec = llama_spec_of_size(form, size);
  spec.vocab_size = vocab_size;
  const Graph graph = make_llama(spec)->build(1, Mode::evaluation);
  std::int64_t count = 0;
  for (const Value& value : graph.values()) count += value.storage == Storage::parameter ? value.desc.count() : 0;
  return count;
}

TEST(Llama, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(get_parameters(LlamaForm::llama, "135m", 49152), 134'515'008);
  EXPECT_EQ(get_parameters(LlamaForm::llama, "360m", 49152), 361'821'120);
  EXPECT_EQ(get_parameters(LlamaForm::llama, "1.7b", 49152), 1'711'376'384);
  EXPECT_EQ(get_parameters(LlamaForm::llama, "1b", 128256), 1'235'814'400);
  EXPECT_EQ(get_parameters(LlamaForm::llama, "3b", 128256), 3'212'749'824);
  EXPECT_EQ(get_parameters(LlamaForm::llama, "8b", 128256), 8'030'261'248);
  EXPECT_EQ(get_parameters(LlamaForm::qwen2, "0.5b", 151936), 494'032'768);
  EXPECT_EQ(get_parameters(LlamaForm::qwen2, "1.5b", 151936), 1'543'714'304);
  EXPECT_EQ(get_parameters(LlamaForm::qwen3, "0.6b", 151936), 596'049'920);
  EXPECT_EQ(get_parameters(LlamaForm::qwen3, "1.7b", 151936), 1'720'574'976);
  EXPECT_EQ(get_parameters(LlamaForm::qwen3, "8b", 151936), 8'190'735'360);
}

TEST(Llama, BaseIsTheSmallestPublishedSizeAndOthersAreNamed) {
  EXPECT_EQ(llama_spec_of_size(LlamaForm::qwen3, "base").layers, 28);
  const std::string message = get_error([] { llama_spec_of_size(LlamaForm::qwen2, "8b"); }, ExitCode::usage);
  EXPECT_EQ(message, "model.size: unknown size \"8b\": expected one of tiny, mini, small, base, 0.5b, 1.5b");
}

class LlamaSpecs : public ::testing::Test {
 protected:
  LlamaSpec read(LlamaForm form, const std::string& text) {
    write_file_atomic(file_, text);
    return llama_spec_from_config(form, file_);
  }
  std::string refusal(const std::string& part, const std::string& changed) {
    std::string text = llama_config_json(llama_spec_of_size(LlamaForm::llama, "1b"));
    text.replace(text.find(part), part.size(), changed);
    return get_error([&] { read(LlamaForm::llama, text); });
  }
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "config.json";
};

TEST_F(LlamaSpecs, AreReadAsTheyWereWritten) {
  for (const LlamaForm form : {LlamaForm::llama, LlamaForm::qwen2, LlamaForm::qwen3}) {
    LlamaSpec spec = llama_spec_of_size(form, "base");
    spec.rope_scaling = {RotaryScaling::Kind::llama3, 32, 1, 4, 8192};
    spec.tied = false;
    EXPECT_EQ(llama_config_json(read(form, llama_config_json(spec))), llama_config_json(spec));
  }
}

/// Fields that files leave out, and the form that transformers 5 writes.
TEST_F(LlamaSpecs, TakeTransformersDefaultsAndItsNewerForm) {
  const std::string sizes = R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
      "intermediate_size": 96, "vocab_size": 100, "max_position_embeddings": 512)";
  const LlamaSpec bare = read(LlamaForm::llama, "{\"model_type\": \"llama\", " + sizes + "}");
  EXPECT_EQ(bare.kv_heads, 4);
  EXPECT_EQ(bare.head_dim, 16);
  EXPECT_EQ(bare.rope_theta, 10000);
  EXPECT_EQ(bare.rms_norm_epsilon, 1e-6f);
  EXPECT_FALSE(bare.tied);
  EXPECT_EQ(read(LlamaForm::qwen3, "{" + sizes + "}").head_dim, 128);
  const LlamaSpec newer = read(LlamaForm::llama, "{" + sizes + R"(, "rope_parameters": {"rope_type": "linear",
      "rope_theta": 5e5, "factor": 2.0}})");
  EXPECT_EQ(newer.rope_theta, 5e5);
  EXPECT_EQ(newer.rope_scaling.kind, RotaryScaling::Kind::linear);
  EXPECT_EQ(newer.rope_scaling.factor, 2);
}

TEST_F(LlamaSpecs, OfAnotherArchitectureAreRefused) {
  EXPECT_NE(refusal("\"llama\"", "\"mistral\"").find("model_type: expected \"llama\""), std::string::npos);
  EXPECT_NE(refusal("\"silu\"", "\"gelu\"").find("hidden_act: expected \"silu\""), std::string::npos);
  EXPECT_NE(refusal("\"llama3\"", "\"yarn\"").find("rope_type: \"yarn\": expected default, linear or llama3"),
            std::string::npos);
  EXPECT_NE(refusal("32.0", "0.0").find("rope_scaling: expected a factor above 0"), std::string::npos);
  EXPECT_NE(refusal("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": 1").find("expected true or false"),
            std::string::npos);
}

TEST_F(LlamaSpecs, OfPartialRotationQuantisedOrOfAbsurdDepthAreRefused) {
  const std::string depth = "\"num_hidden_layers\": 16";
  EXPECT_NE(refusal(depth, "\"num_hidden_layers\": 200000000").find("num_hidden_layers: expected at most 2000"),
            std::string::npos);
  EXPECT_NE(refusal(depth, depth + ", \"partial_rotary_factor\": 0.5").find("partial_rotary_factor: expected 1.0"),
            std::string::npos);
  EXPECT_NE(
      refusal(depth, depth + ", \"quantization_config\": {\"quant_method\": \"gptq\"}").find("quantization_config"),
      std::string::npos);
  EXPECT_NE(
      refusal("\"rope_theta\": 500000.0", "\"rope_theta\": 0").find("rope_theta: expected a number above 0, got 0"),
      std::string::npos);
  std::string text = llama_config_json(llama_spec_of_size(LlamaForm::llama, "1b"));
  text.replace(text.find(depth), depth.size(), depth + R"(, "partial_rotary_factor": 1, "quantization_config": null)");
  EXPECT_NO_THROW(read(LlamaForm::llama, text));
}

/// A llama of one layer with `number` as another key.
class LlamaGguf : public ::testing::Test {
 protected:
  LlamaSpec read(const std::string& key, float number, std::uint32_t layers = 1) {
    constexpr std::uint32_t u32 = 4, f32 = 6, text = 8;
    gguf_test::Written file = gguf_test::begin(2, 8);
    file.string("general.architecture").number(text).string("llama");
    const auto add = [&](const char* name, std::uint32_t value) {
      file.string(std::string("llama.") + name).number(u32).number(value);
    };
    add("block_count", layers);
    add("embedding_length", 64);
    add("attention.head_count", 2);
    add("feed_forward_length", 96);
    add("context_length", 128);
    file.string("llama.attention.layer_norm_rms_epsilon").number(f32).number(1e-5f);
    file.string("llama." + key).number(f32).number(number);
    file.tensor("token_embd.weight", {64, 10}, 0, 0).tensor("blk.0.attn_norm.weight", {64}, 0, 2560).data(2816);
    write_file_atomic(directory_ / "w.gguf", file.text());
    return llama_spec_from_gguf(LlamaForm::llama, GgufFile(directory_ / "w.gguf"));
  }
  const TemporaryDirectory directory_;
};

TEST_F(LlamaGguf, ABaseOfRotationIsPositive) {
  for (const float base : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_NE(
        get_error([&] { read("rope.freq_base", base); }).find("w.gguf: llama.rope.freq_base: expected a number above"),
        std::string::npos);
  }
}

TEST_F(LlamaGguf, FactorsWithoutATypeAreLinear) {
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    const LlamaSpec spec = read(key, 4);
    EXPECT_EQ(spec.rope_scaling.kind, RotaryScaling::Kind::linear) << key;
    EXPECT_EQ(spec.rope_scaling.factor, 4) << key;
  }
  EXPECT_EQ(read("rope.scaling.factor", 1).rope_scaling.kind, RotaryScaling::Kind::none);
}

TEST_F(LlamaGguf, KeysThatChangeTheResultAreRefusedByName) {
  for (const char* key : {"expert_count", "attention.clamp_kqv", "final_logit_softcapping", "attn_logit_softcapping",
                          "logit_scale", "attention.sliding_window"}) {
    const std::string message = get_error([&] { read(key, 4); });
    EXPECT_NE(message.find(std::string("llama.") + key), std::string::npos) << message;
    EXPECT_NO_THROW(read(key, 0)) << key;
  }
  EXPECT_NE(get_error([&] { read("attention.causal", 0); }).find("llama.attention.causal"), std::string::npos);
  EXPECT_NO_THROW(read("attention.causal", 1));
  EXPECT_NO_THROW(read("attention.sliding_window", 128));
}

TEST_F(LlamaGguf, LayersThatTheFileLacksAreRefused) {
  const std::string message = get_error([&] { read("rope.freq_base", 1e4f, 1U << 31); });
  EXPECT_NE(message.find("llama.block_count: is 2147483648, but the file has no tensor blk.2147483647.*"),
            std::string::npos)
      << message;
}

TEST(Llama, HeadsThatDoNotFitAreRefused) {
  LlamaSpec spec;
  spec.kv_heads = 2;
  EXPECT_EQ(get_error([&] { make_llama(spec); }, ExitCode::usage),
            "llama: 2 key heads do not divide the 9 query heads");
  spec = {};
  spec.max_length = 8193;
  EXPECT_EQ(get_error([&] { make_llama(spec); }, ExitCode::usage),
            "data.max_length: 8193 tokens exceed the model's 8192 positions");
}

/// The names of published files, among them query, key and value apart.
TEST(Llama, TensorsHaveTransformersNames) {
  LlamaSpec spec = llama_spec_of_size(LlamaForm::qwen2, "tiny");
  spec.tied = false;
  std::map<std::string, Shape> tensors;
  for (const WeightMapping& mapping : make_llama(spec)->weights()) tensors[mapping.external] = mapping.external_shape;
  EXPECT_EQ(tensors.size(), 1 + 2 * 12 + 2u);
  EXPECT_EQ(tensors.at("model.layers.1.self_attn.k_proj.weight"), (Shape{64, 128}));
  EXPECT_EQ(tensors.at("model.layers.1.self_attn.q_proj.bias"), (Shape{128}));
  EXPECT_EQ(tensors.at("model.layers.0.mlp.up_proj.weight"), (Shape{384, 128}));
  EXPECT_EQ(tensors.at("lm_head.weight"), (Shape{49152, 128}));
  spec.form = LlamaForm::qwen3;
  const auto qwen3 = make_llama(spec)->weights();
  EXPECT_TRUE(std::any_of(qwen3.begin(), qwen3.end(), [](const WeightMapping& mapping) {
    return mapping.external == "model.layers.0.self_attn.k_norm.weight" && mapping.external_shape == Shape{64};
  }));
}

}  // namespace
}  // namespace ptrain
