#include "models/text/gpt2.h"

#include "core/data/factory.h"
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/passes/memory_plan.h"
#include "core/passes/optimizer.h"
#include "core/passes/pipeline.h"
#include "models/model_registry.h"
#include "tests/error_message.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

std::int64_t get_parameters(const Gpt2Spec& spec) {
  const Graph graph = make_gpt2(spec)->build(1, Mode::evaluation);
  std::int64_t count = 0;
  for (const Value& value : graph.values()) count += value.storage == Storage::parameter ? value.desc.count() : 0;
  return count;
}

Gpt2Spec tiny() {
  Gpt2Spec spec = gpt2_spec_of_size("tiny");
  spec.vocab_size = 100;
  spec.max_length = 16;
  return spec;
}

class Gpt2Specs : public ::testing::Test {
 protected:
  Gpt2Spec read(const std::string& text) {
    write_file_atomic(file_, text);
    return gpt2_spec_from_config(file_);
  }
  std::string refusal(const std::string& part, const std::string& changed) {
    std::string text = gpt2_config_json({});
    text.replace(text.find(part), part.size(), changed);
    return get_error([&] { read(text); });
  }
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "config.json";
};

TEST(Gpt2, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(get_parameters(gpt2_spec_of_size("base")), 124'439'808);
  EXPECT_EQ(get_parameters(gpt2_spec_of_size("medium")), 354'823'168);
  EXPECT_EQ(get_parameters(gpt2_spec_of_size("large")), 774'030'080);
}

TEST_F(Gpt2Specs, AreReadAsTheyWereWritten) {
  Gpt2Spec spec;
  spec.heads = 6;
  spec.intermediate = 99;
  spec.max_positions = 77;
  spec.activation = Activation::relu;
  EXPECT_EQ(gpt2_config_json(read(gpt2_config_json(spec))), gpt2_config_json(spec));
}

TEST_F(Gpt2Specs, TakeFourTimesTheWidthWhereTheFileSaysNoOther) {
  std::string text = gpt2_config_json({});
  text.replace(text.find("\"n_inner\": 3072"), 15, "\"n_inner\": null");
  EXPECT_EQ(read(text).intermediate, 3072);
}

TEST_F(Gpt2Specs, OfAnotherArchitectureAreRefused) {
  EXPECT_NE(refusal("\"gpt2\"", "\"gpt_neo\"").find("model_type: expected \"gpt2\""), std::string::npos);
  EXPECT_NE(refusal("\"n_layer\": 12", "\"n_layer\": 0").find("n_layer: expected a positive integer"),
            std::string::npos);
  EXPECT_NE(refusal("embeddings\": true", "embeddings\": false").find("tie_word_embeddings: expected true"),
            std::string::npos);
  EXPECT_NE(refusal("gelu_new", "mish").find("activation_function: \"mish\""), std::string::npos);
}

TEST(Gpt2, BlocksThatItHasNoPositionsForAreRefused) {
  Gpt2Spec spec = tiny();
  spec.max_length = 1025;
  EXPECT_EQ(get_error([&] { make_gpt2(spec); }, ExitCode::usage),
            "data.max_length: 1025 tokens exceed the model's 1024 positions");
}

TEST(Gpt2, AVocabularyLargerThanTheTableOfTheWeightsIsRefused) {
  const TemporaryDirectory directory;
  Gpt2Spec spec = tiny();
  write_file_atomic(directory / "config.json", gpt2_config_json(spec));
  Config config;
  config.model.entry = find_model("gpt2");
  config.model.weights = (directory / "model.safetensors").string();
  const std::string message = get_error([&] { gpt2_spec(config, tokens_info(16, 101)); }, ExitCode::usage);
  EXPECT_NE(message.find("data.vocab: has 101 entries"), std::string::npos) << message;
  EXPECT_EQ(gpt2_spec(config, tokens_info(16, 100)).layers, 2);
}

/// One table for both its uses at every level: a second copy would be trained apart.
TEST(Gpt2, TheTableOfWordsIsOneParameterAtEveryLevel) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
    PipelineOptions options;
    options.amp.level = level;
    options.optimizer.kind = OptimizerKind::adamw;
    const Graph graph =
        build_training_graph(testing::with_losses(*make_gpt2(tiny()), 2, Mode::training, "language_model"), options)
            .graph;
    std::int64_t segments = 0, elements = 0;
    for (const Node& node : graph.nodes()) {
      if (const auto* update = dynamic_cast<const OptimizerUpdate*>(node.op.get())) {
        segments = static_cast<std::int64_t>(update->segments().size());
        for (const ParameterSegment& segment : update->segments()) elements += segment.count;
      }
    }
    EXPECT_EQ(segments, 2 + 2 * 12 + 2);
    EXPECT_EQ(elements, get_parameters(tiny()));
    EXPECT_EQ(graph.find_value("transformer.wte.weight@bf16"), no_value);
  }
}

/// Logits are as large as a batch has tokens times the vocabulary: the training graph holds a chunk of them, and
/// without fusion all of them once.
TEST(Gpt2, TrainingHoldsAChunkOfTheLogits) {
  Gpt2Spec spec = tiny();
  spec.vocab_size = 20'000;
  constexpr std::int64_t rows = 64;
  const Graph forward = testing::with_losses(*make_gpt2(spec), rows, Mode::training, "language_model");
  EXPECT_EQ(forward.find_output(tensor_names::logits), no_value);
  PipelineOptions options;
  options.optimizer.kind = OptimizerKind::adamw;
  const auto plan = [&] {
    return plan_memory(build_training_graph(forward, options).graph, MemoryReuse::on).arena_bytes;
  };
  const std::int64_t row = spec.vocab_size * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t logits = rows * spec.max_length * row, table = spec.hidden * row;
  EXPECT_LT(plan(), logits);
  options.fusion = Fusion::off;
  EXPECT_LT(plan(), logits + 2 * table + logits / 3) << "two of them would take " << 2 * logits;
  EXPECT_GT(plan(), logits);
}

}  // namespace
}  // namespace ptrain
