#include "models/text/transformer.h"

#include "core/io/atomic_file.h"
#include "models/model_registry.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace ptrain {
namespace {

Config make_config(ModelSize size) {
  Config config;
  config.model.entry = find_model("transformer");
  config.model.size = size;
  config.model.classes = 1;
  return config;
}

std::int64_t count_parameters(const Model& model) {
  const Graph graph = model.build(1, Mode::evaluation);
  std::int64_t count = 0;
  for (const Value& value : graph.values()) count += value.storage == Storage::parameter ? value.desc.count() : 0;
  return count;
}

TEST(Transformer, HasThePublishedNumberOfParameters) {
  DatasetInfo data = described_data(find_model("transformer"));
  data.vocab_size = 37000;  // of Vaswani et al.'s English and German
  const auto count = [&](ModelSize size) { return count_parameters(*make_model(make_config(size), data)); };
  EXPECT_EQ(count(ModelSize::base) / 1'000'000, 63);  // 65 with the paper's 38 thousand rows
  EXPECT_EQ(count(ModelSize::large) / 1'000'000, 214);
}

TEST(Transformer, StartsMatricesByTheirOwnWidths) {
  const DatasetInfo data = described_data(find_model("transformer"));
  for (const ModelVariable& variable : make_model(make_config(ModelSize::tiny), data)->variables()) {
    if (variable.name == "model.encoder.layers.0.self_attn.qkv.weight") {
      EXPECT_EQ(variable.initializer.value, std::sqrt(6.0f / (128 + 128)));
    }
    if (variable.name == "model.shared.weight") {
      EXPECT_EQ(variable.initializer.value, 1 / std::sqrt(128.0f));
    }
  }
}

class TransformerConfigs : public ::testing::Test {
 protected:
  /// Writes transformers' config.json with a field changed, beside weights.
  TransformerSpec read(const std::string& field = "", const nlohmann::json& value = nullptr,
                       NormPlace norm = NormPlace::post) {
    TransformerSpec spec;
    spec.norm = norm;
    spec.layers = 3;
    spec.hidden = 96;
    spec.heads = 6;
    spec.intermediate = 100;
    spec.vocab_size = 1000;
    spec.activation = Activation::silu;
    nlohmann::json json = nlohmann::json::parse(transformer_config_json(spec));
    if (!field.empty()) json[field] = value;
    write_file_atomic(directory_ / "config.json", json.dump());
    write_file_atomic(directory_ / "model.safetensors", std::string("x"));
    Config config = make_config(ModelSize::base);
    config.model.weights = (directory_ / "model.safetensors").string();
    DatasetInfo data = described_data(config.model.entry);
    data.vocab_size = 900;
    return transformer_spec(config, data);
  }
  const TemporaryDirectory directory_;
};

TEST_F(TransformerConfigs, AreReadAsTheyWereWritten) {
  const TransformerSpec spec = read();
  EXPECT_EQ(spec.layers, 3);
  EXPECT_EQ(spec.hidden, 96);
  EXPECT_EQ(spec.heads, 6);
  EXPECT_EQ(spec.intermediate, 100);
  EXPECT_EQ(spec.vocab_size, 1000);
  EXPECT_EQ(spec.activation, Activation::silu);
  EXPECT_EQ(spec.norm, NormPlace::post);
  EXPECT_EQ(read("", nullptr, NormPlace::pre).norm, NormPlace::pre);
}

TEST_F(TransformerConfigs, OfOtherNetworksAreRefused) {
  const auto refusal = [&](const std::string& field, const nlohmann::json& value) {
    return get_error([&] { read(field, value); });
  };
  EXPECT_NE(refusal("model_type", "bart").find("model_type: expected \"marian\""), std::string::npos);
  EXPECT_NE(refusal("model_type", "pegasus").find("normalize_before: expected true"), std::string::npos);
  EXPECT_NE(refusal("decoder_layers", 2).find("decoder_layers: expected 3"), std::string::npos);
  EXPECT_NE(refusal("scale_embedding", false).find("scale_embedding: expected true"), std::string::npos);
  EXPECT_NE(refusal("d_model", "x").find("d_model: expected a positive integer"), std::string::npos);
  EXPECT_NE(get_error([&] { read("vocab_size", 800); }, ExitCode::usage).find("has 900 entries"), std::string::npos);
}

TEST(Transformer, RefusesHeadsThatDoNotDivideTheWidth) {
  EXPECT_NE(get_error([] { make_transformer({.hidden = 100, .heads = 3}); }, ExitCode::usage).find("do not divide"),
            std::string::npos);
}

}  // namespace
}  // namespace ptrain
