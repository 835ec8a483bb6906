// Whole trainings by the optimizers that keep sums of squares, or products.
#include "core/passes/optimizer.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

constexpr OptimizerKind kinds[] = {OptimizerKind::adam, OptimizerKind::adagrad, OptimizerKind::rmsprop,
                                   OptimizerKind::muon};

TEST(Optimizers, TrainClicksByTheRowsThatBatchesRead) {
  Config config = clicks_config();
  config.train.steps = 40;
  config.train.optimizer.weight_decay = 0;
  for (const OptimizerKind kind : kinds) {
    SCOPED_TRACE(enum_name(kind));
    config.train.optimizer.name = kind;
    config.train.optimizer.lr = kind == OptimizerKind::adagrad ? 0.02 : 1e-3;
    const std::vector<double> curve = losses(config);
    EXPECT_LT(mean(std::span(curve).last(8)), mean(std::span(curve).first(8)));
  }
}

TEST(Optimizers, KeepOneSumForEachRowOfATableWhereAskedTo) {
  Config config = clicks_config();
  config.train.optimizer.name = OptimizerKind::adagrad;
  config.train.optimizer.row_wise = true;
  config.train.optimizer.lr = 0.02;
  config.train.steps = 40;
  const std::vector<double> curve = losses(config);
  EXPECT_LT(mean(std::span(curve).last(8)), mean(std::span(curve).first(8)));
  config.train.steps = 1;
  const Outcome outcome = train_and_save(config);
  const std::vector<std::byte>& sums = outcome.state.at(std::string(flat::moment1) + ".deep.words.weight");
  EXPECT_EQ(sums.size(), static_cast<std::size_t>(config.model.hash_buckets) * sizeof(float));
}

TEST(Optimizers, ContinueBitForBit) {
  Config config = bert_config();
  for (const OptimizerKind kind : kinds) {
    SCOPED_TRACE(enum_name(kind));
    config.train.optimizer.name = kind;
    config.train.optimizer.centered = true;
    config.amp.level = kind == OptimizerKind::adam ? AmpLevel::O0 : AmpLevel::O2;
    expect_resumes_exactly(config, 2, 5);
  }
}

}  // namespace
}  // namespace ptrain
