// Language models whose output layer and loss are computed in chunks train as with whole logits.
#include "core/passes/optimizer.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrain {
namespace {

using namespace testing;

/// Batches of 512 tokens, whose logits of 8192 words take 16 MiB.
Config make_config(std::string_view model) {
  Config config = gpt2_config();
  config.model.entry = find_model(model);
  config.model.dropout = 0;
  config.model.vocab_size = 8192;
  config.model.max_positions = 128;
  config.data.max_length = 128;
  config.train.steps = 3;
  return config;
}

Config whole_logits(Config config) {
  config.fusion = Fusion::off;
  return config;
}

bool runs(const RunResult& result, std::string_view type) {
  return std::ranges::any_of(result.kernels, [&](const NodeProfile& node) { return node.type == type; });
}

TEST(OutputLayer, LossesInChunksAreThoseOfWholeLogits) {
  for (const char* model : {"gpt2", "llama"}) {
    SCOPED_TRACE(model);
    Config config = make_config(model);
    EXPECT_LT(difference(losses(config), losses(whole_logits(config))), 1e-5);
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
      config.amp.level = level;
      EXPECT_LT(difference(losses(config), losses(whole_logits(config))), 2e-2) << enum_name(level);
    }
  }
}

TEST(OutputLayer, IsComputedInChunksInTrainingAndEvaluation) {
  Config config = make_config("llama");
  config.output.per_op = true;
  config.eval.every_epochs = 1;
  const RunResult result = train(config).result;
  EXPECT_TRUE(runs(result, "linear_cross_entropy_grad"));
  EXPECT_FALSE(runs(result, "linear_cross_entropy"));
  EXPECT_FALSE(runs(result, "softmax_cross_entropy"));
  const RunResult other = train(whole_logits(config)).result;
  EXPECT_FALSE(runs(other, "linear_cross_entropy_grad"));
  EXPECT_LT(result.planned_peak_bytes, other.planned_peak_bytes);
  EXPECT_NEAR(get_value(result.evaluations.at(0), "perplexity"), get_value(other.evaluations.at(0), "perplexity"),
              1e-3 * get_value(other.evaluations.at(0), "perplexity"));
}

TEST(OutputLayer, AdaptersBesideAFrozenHeadLearnAlike) {
  Config config = make_config("llama");
  config.model.lora.rank = 4;
  EXPECT_LT(difference(losses(config), losses(whole_logits(config))), 1e-5);
}

TEST(OutputLayer, MicroBatchesAreOneBatch) {
  Config whole = make_config("gpt2");
  whole.data.batch_size = 8;
  whole.data.shuffle = false;
  whole.train.optimizer = {.name = OptimizerKind::sgd, .lr = 0.5, .weight_decay = 0};
  Config parts = whole;
  parts.data.batch_size = 4;
  parts.train.accumulate_steps = 2;
  EXPECT_LT(difference(losses(parts), losses(whole)), 1e-5);
}

TEST(OutputLayer, RanksTrainWhatOneRankTrains) {
  Config config = make_config("llama");
  config.data.batch_size = 8;
  const std::vector<double> one = losses(config);
  EXPECT_LT(difference(train_on_ranks(shared_out(config, 2), 2)[0].result.losses, one), 1e-5);
}

}  // namespace
}  // namespace ptrain
