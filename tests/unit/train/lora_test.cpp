// Trainings of adapters beside frozen weights.
#include "core/passes/optimizer.h"
#include "core/train/plans/memory_estimate.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ptrain {
namespace {

using namespace testing;

/// A tiny Llama on synthetic tokens.
Config llama_config() {
  Config config = gpt2_config();
  config.model.entry = find_model("llama");
  config.train.optimizer.lr = 0.01;
  return config;
}

Config adapted(Config config) {
  config.model.lora.rank = 4;
  return config;
}

bool is_adapter(std::string_view name) { return name.find(".lora_") != name.npos; }

TEST(LoraTraining, BeginsAsTheModelAndChangesAdaptersAlone) {
  for (Config config : {llama_config(), gpt2_config()}) {
    SCOPED_TRACE(config.model.entry.name);
    config.model.dropout = 0;
    config.data.synthetic_samples = config.data.batch_size;  // one batch, in every step
    const std::vector<double> adapters = losses(adapted(config));
    EXPECT_EQ(adapters.front(), losses(config).front()) << "B is zero";
    EXPECT_LT(adapters.back(), adapters.front());
    Config start = adapted(config);
    start.train.optimizer.lr = 0;
    const Weights before = trained_weights(start), after = trained_weights(adapted(config));
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, bytes] : before) EXPECT_EQ(bytes != after.at(name), is_adapter(name)) << name;
  }
}

TEST(LoraTraining, FrozenWeightsHaveNeitherGradientsNorMoments) {
  const auto elements = [](const Config& config) {
    std::map<std::string, std::size_t> sizes;
    for (const auto& [name, bytes] : train_and_save(config).state) sizes[name] = bytes.size() / sizeof(float);
    return sizes;
  };
  const auto sizes = elements(adapted(llama_config()));
  std::size_t adapters = 0;
  for (const auto& [name, bytes] : trained_weights(adapted(llama_config()))) {
    if (is_adapter(name)) adapters += bytes.size() / sizeof(float);
  }
  EXPECT_EQ(sizes.at(flat::master), adapters);
  EXPECT_EQ(sizes.at(flat::moment1), adapters);
}

MemoryEstimate estimate(const Config& config) {
  const auto data = open_dataset(data_settings(config), Split::train);
  const auto model = make_model(config, data->info());
  const auto backend = make_test_backend();
  return estimate_memory(step_options(config, *model, DType::bf16), *model, {config.data.batch_size},
                         backend->kernels());
}

/// Where every plan reads frozen weights in low precision, nothing keeps them in fp32.
TEST(LoraTraining, FrozenWeightsAreKeptInLowPrecisionAlone) {
  for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
    SCOPED_TRACE(enum_name(level));
    Config config = adapted(llama_config());
    const std::vector<double> exact = losses(config);
    config.amp.level = level;
    config.amp.dtype = AmpDType::bf16;
    config.eval.every_epochs = 1;
    config.eval.amp = AmpLevel::O0;
    const MemoryEstimate both = estimate(config);
    config.eval.amp = level;
    const MemoryEstimate low = estimate(config);
    EXPECT_LT(low.variables, both.variables * 6 / 10);
    const Outcome outcome = train(config);
    EXPECT_LT(difference(outcome.result.losses, exact), 0.02);
    EXPECT_FALSE(outcome.result.evaluations.empty());
    expect_resumes_exactly(config, 2, 4);
  }
}

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The distance of two lists of numbers, by the length of the second.
double relative_distance(const std::vector<float>& one, const std::vector<float>& other) {
  double distance = 0, length = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    distance += std::pow(double{one[i]} - double{other[i]}, 2);
    length += std::pow(double{other[i]}, 2);
  }
  return std::sqrt(distance / length);
}

/// QLoRA: adapters get the gradients that they have beside a base of the values that the blocks stand for, but for the
/// rounding of what the layers read. B is what its gradients add up to, since it starts at zero.
TEST(LoraTraining, FrozenLayersInBlocksTrainAsTheirValuesDo) {
  for (const LoraBase base : {LoraBase::q8_0, LoraBase::q4_0, LoraBase::q4_1}) {
    SCOPED_TRACE(enum_name(base));
    Config blocks = adapted(llama_config());
    blocks.model.lora.base = base;
    blocks.train.optimizer = {.name = OptimizerKind::sgd, .lr = 0.5, .weight_decay = 0};
    Config start = blocks;
    start.train.optimizer.lr = 0;
    const TemporaryDirectory directory;
    train(start, [&](Trainer& trainer) { trainer.export_model(directory.path()); });
    Config values = blocks;
    values.model.lora.base = LoraBase::full;
    values.model.weights = (directory.path() / "model.safetensors").string();
    EXPECT_LT(difference(losses(blocks), losses(values)), 0.01);
    const Weights in_blocks = trained_weights(blocks), in_full = trained_weights(values);
    for (const auto& [name, bytes] : in_full) {
      if (!is_adapter(name)) {
        EXPECT_EQ(in_blocks.at(name), bytes) << name;
      }
      if (!name.ends_with("lora_B.weight")) continue;
      EXPECT_LT(relative_distance(as_floats(in_blocks.at(name)), as_floats(bytes)), 0.05) << name;
    }
    EXPECT_LT(estimate(blocks).variables, estimate(values).variables / 2);
  }
}

TEST(LoraTraining, FrozenLayersInBlocksAreEvaluatedAndResumed) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
    SCOPED_TRACE(enum_name(level));
    Config config = adapted(llama_config());
    config.model.lora.base = LoraBase::q4_1;
    config.amp.level = config.eval.amp = level;
    config.amp.dtype = AmpDType::bf16;
    config.eval.every_epochs = 1;
    EXPECT_FALSE(train(config).result.evaluations.empty());
    expect_resumes_exactly(config, 2, 4);
  }
}

TEST(LoraTraining, GroupsSetTheRatesOfAdapters) {
  Config config = adapted(llama_config());
  config.train.optimizer = {.name = OptimizerKind::sgd, .lr = 0.1, .weight_decay = 0};
  config.train.groups = {{"*.lora_B.weight"}, {}, {0}, {}};
  config.train.steps = 2;
  const Weights frozen = trained_weights(config);
  for (const auto& [name, bytes] : frozen) {
    if (!name.ends_with("lora_B.weight")) continue;
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; })) << name;
  }
}

TEST(LoraTraining, DropoutOfAdaptersIsDrawnAnewInEveryStep) {
  Config config = adapted(llama_config());
  const std::vector<double> without = losses(config);
  config.model.lora.dropout = 0.5;
  const std::vector<double> with = losses(config);
  EXPECT_EQ(with.front(), without.front());
  EXPECT_NE(with.back(), without.back());
  expect_resumes_exactly(config, 2, 4);
}

}  // namespace
}  // namespace ptrain
