// data.padding none trains what max_length trains, in fewer tokens.
#include "core/config/config_enums.h"
#include "core/data/tensor_names.h"
#include "core/runtime/feeder.h"
#include "core/train/plans/memory_estimate.h"
#include "tests/small_models.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

using namespace testing;

/// Batches of 8 sequences of 16 to 32 tokens, which need several capacities; no dropout, for its masks differ.
Config padded_config() {
  Config config = bert_config();
  config.model.dropout = 0;
  config.data.batch_size = 8;
  config.data.max_length = 32;
  config.data.synthetic_samples = 256;
  config.train.steps = 12;
  return config;
}

TEST(PackedText, LossesAreThoseOfPaddedText) {
  for (const AttentionAlgorithm attention : {AttentionAlgorithm::flash, AttentionAlgorithm::math}) {
    Config config = padded_config();
    config.model.attention = attention;
    EXPECT_LT(difference(losses(packed(config)), losses(config)), 1e-5) << enum_name(attention);
    for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
      config.amp.level = level;
      EXPECT_LT(difference(losses(packed(config)), losses(config)), 2e-2) << enum_name(level);
    }
  }
}

TEST(PackedText, GradientsOfTheFirstStepAreThoseOfPaddedText) {
  Config config = padded_config();
  config.train.steps = 1;
  config.train.optimizer.name = OptimizerKind::momentum;  // whose first moment is the first gradient
  config.train.optimizer.weight_decay = 0;
  const auto gradients = [](const Config& c) {
    const std::vector<std::byte> bytes = train_and_save(c).state.at(flat::moment1);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const std::vector<float> padded = gradients(config), others = gradients(packed(config));
  ASSERT_EQ(padded.size(), others.size());
  double squares = 0, difference = 0;
  for (std::size_t i = 0; i < padded.size(); ++i) {
    squares += static_cast<double>(padded[i]) * padded[i];
    difference = std::max(difference, std::abs(static_cast<double>(padded[i]) - others[i]));
  }
  EXPECT_GT(squares, 0);
  EXPECT_LT(difference, 1e-6 * std::sqrt(squares));
}

TEST(PackedText, EvaluatesAsPaddedText) {
  Config config = padded_config();
  config.eval.every_epochs = 1;
  config.data.synthetic_samples = 4 * 13;  // 13 samples to evaluate: the last batch has empty rows
  const EvalResult padded = train(config).result.evaluations.at(0);
  const EvalResult other = train(packed(config)).result.evaluations.at(0);
  EXPECT_EQ(other.evaluation.eval_samples, 13);
  EXPECT_EQ(get_value(other, "top1"), get_value(padded, "top1"));
  EXPECT_EQ(get_value(other, "f1"), get_value(padded, "f1"));
  EXPECT_NEAR(other.loss.value(), padded.loss.value(), 1e-5 * padded.loss.value());
}

TEST(PackedText, CountsTheTokensThatAreThereAndThoseThatAreComputed) {
  Config config = padded_config();
  config.train.measure_after_steps = 2;
  const RunResult padded = train(config).result, other = train(packed(config)).result;
  EXPECT_EQ(padded.tokens.computed, 10 * 8 * 32);
  EXPECT_EQ(other.tokens.valid, padded.tokens.valid);
  EXPECT_GE(other.tokens.computed, other.tokens.valid);
  EXPECT_LT(static_cast<double>(other.tokens.computed), 1.125 * static_cast<double>(other.tokens.valid) + 10 * 16);
  EXPECT_LT(other.flops, padded.flops);
  EXPECT_DOUBLE_EQ(other.flops_per_sample, other.flops / static_cast<double>(other.samples));
}

TEST(PackedText, DropoutLearnsAndRepeats) {
  Config config = packed(padded_config());
  config.model.dropout = 0.1;
  config.data.batch_size = 16;
  config.train.steps = 64;
  const std::vector<double> first = losses(config);
  EXPECT_EQ(losses(config), first);
  const std::span all(first);
  EXPECT_LT(mean(all.last(8)), 0.8 * mean(all.first(8)));
}

TEST(PackedText, MicroBatchesOfDifferentCapacitiesAreOneBatch) {
  Config config = padded_config();
  config.data.shuffle = false;
  config.train.optimizer.name = OptimizerKind::momentum;
  config.train.optimizer.lr = 0.05;
  const std::vector<double> whole = losses(config);
  config.data.batch_size = 4;
  config.train.accumulate_steps = 2;
  EXPECT_LT(difference(losses(packed(config)), whole), 1e-5);
}

TEST(PackedText, RanksOfDifferentCapacitiesTrainWhatOneRankTrains) {
  const TemporaryDirectory directory;
  Config config = saved_to(directory, padded_config());  // which checks that the ranks' parameters are equal
  config.dist.bucket_mb = 1;
  config.eval.every_epochs = 1;
  const RunResult one = train(config).result;
  const std::vector<Outcome> outcomes = train_on_ranks(shared_out(packed(config), 2), 2);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.result.losses, outcomes[0].result.losses);
    EXPECT_EQ(get_value(outcome.result.evaluations.at(0), "top1"), get_value(one.evaluations.at(0), "top1"));
  }
  EXPECT_LT(difference(outcomes[0].result.losses, one.losses), 1e-5);
  EXPECT_EQ(outcomes[0].result.tokens.valid, one.tokens.valid);
}

std::int64_t packed_tokens(const Model& model, std::int64_t rows, std::int64_t tokens) {
  return model.bucket_for({rows, {{extent_names::tokens, tokens}}}, Mode::training).tokens();
}

TEST(PackedText, CapacitiesAreFewAndNearlyFull) {
  const Config config = packed(padded_config());
  const auto data = open_dataset(data_settings(config), Split::train);
  const auto model = make_model(config, data->info());
  std::set<std::int64_t> different;
  for (std::int64_t tokens = 1; tokens <= 64 * 32; ++tokens) {
    const std::int64_t capacity = packed_tokens(*model, 64, tokens);
    EXPECT_GE(capacity, tokens);
    EXPECT_LE(capacity, 64 * 32);
    EXPECT_LT(capacity - tokens, std::max<std::int64_t>(16, tokens / 8 + 1));
    EXPECT_EQ(capacity % 16, 0);
    different.insert(capacity);
  }
  EXPECT_LE(different.size(), 8u + 4 * 8);
  EXPECT_EQ(packed_tokens(*model, 3, 3 * 32), 96);
}

/// Sequences that are short at first and longer from sample 64 on.
class GrowingText final : public Dataset {
 public:
  explicit GrowingText(const DatasetInfo& info) { info_ = info; }
  std::int64_t size() const override { return 128; }
  void load(std::int64_t index, SampleRandom, Scratch&, const SampleRow& out) const override {
    const std::size_t length = index < 64 ? 6 : 20;
    const auto ids = out.at<std::int32_t>(tensor_names::ids);
    std::ranges::fill(ids.first(length), static_cast<std::int32_t>(5 + index % 7));
    std::ranges::fill(ids.subspan(length), 0);
    std::ranges::fill(out.at<std::int32_t>(tensor_names::token_types), 0);
    out.set(tensor_names::lengths, static_cast<std::int32_t>(length));
    out.set(tensor_names::labels, label(index));
  }
  std::int32_t label(std::int64_t index) const override { return static_cast<std::int32_t>(index % 2); }
};

TEST(PackedText, AStepThatCompilesAPlanIsNotMeasured) {
  Config config = packed(padded_config());
  config.data.batch_size = 2;
  config.data.shuffle = false;
  config.train.steps = 40;
  const auto described = open_dataset(data_settings(config), Split::train);
  const GrowingText data(described->info());
  const auto model = make_model(config, data.info());
  const auto backend = make_test_backend();
  NoteKeeper observer;
  Trainer trainer(config, "hash", *backend, *model, data, nullptr, observer);
  trainer.compile();
  trainer.prepare();
  const double search_before = trainer.result().search_seconds;
  trainer.train();
  const RunResult& result = trainer.result();
  EXPECT_EQ(result.status, RunStatus::ok) << result.message;
  EXPECT_EQ(result.losses.size(), 40u);
  EXPECT_EQ(result.set_up_steps, 1);  // the first of two sequences of 20, which the first 32 batches do not have
  EXPECT_EQ(result.step_ms.size(), 40u - 5 - 1);
  EXPECT_GT(result.search_seconds, search_before);
  EXPECT_EQ(result.tokens.valid, 27 * 2 * 6 + 7 * 2 * 20);
  ASSERT_FALSE(observer.notes.empty());
  EXPECT_NE(observer.notes.back().find("left out of the timing"), std::string::npos) << observer.notes.back();
}

TEST(PackedText, TheEstimateIsThatOfTheMostTokens) {
  Config config = packed(padded_config());
  const auto data = open_dataset(data_settings(config), Split::train);
  const auto model = make_model(config, data->info());
  const auto backend = make_test_backend();
  const StepOptions step = step_options(config, *model, backend->kernels().preferred_low_precision());
  const MemoryEstimate estimate = estimate_memory(step, *model, config.data.batch_size, backend->kernels());
  EXPECT_EQ(train(config).result.arena_bytes, estimate.arena);
}

TEST(PlanSet, APlanThatNeedsMoreMemoryThanTheOthersTakesItsOwn) {
  const Config config = packed(padded_config());
  const auto data = open_dataset(data_settings(config), Split::train);
  const auto model = make_model(config, data->info());
  const auto backend = make_test_backend();
  Variables variables(backend->memory());
  PlanSet plans({[&](const Bucket& bucket) {
                   const PipelineOptions options = training_options(config, DType::bf16);
                   return build_training_graph(with_losses(*model, bucket, Mode::training), options).graph;
                 },
                 [&](const Bucket& batch) { return model->bucket_for(batch, Mode::training); }},
                {8, {{extent_names::tokens, 64}}}, *backend, variables, plan_options(config));
  variables.allocate();
  const PlanMemory small(backend->memory(), plans.arena_bytes(), plans.workspace_bytes());
  plans.bind(small);
  Batch batch;
  batch.add(tensor_names::lengths, {}, std::vector<std::int32_t>(8, 32));
  batch.add(tensor_names::ids, {32}, std::vector<std::int32_t>(8 * 32, 7));
  batch.add(tensor_names::token_types, {32}, std::vector<std::int32_t>(8 * 32, 0));
  batch.add(tensor_names::labels, {}, std::vector<std::int32_t>(8, 1));
  batch.count = 8;
  Plan& plan = plans.for_batch(batch).plan;
  ASSERT_GT(plan.arena_bytes(), small.arena.bytes());
  feed(plan, batch);
  plan.run(Pass::forward, Pass::forward);
  float loss = 0;
  plan.read_output(tensor_names::loss, &loss, sizeof loss);
  EXPECT_NEAR(loss, std::log(2.0), 1e-6) << "of weights that are all zero";
  EXPECT_EQ(plans.size(), 2u);
}

}  // namespace
}  // namespace ptrain
