// output.numerics: the ranges of what training computes, and where a training that diverges leaves the finite numbers.
#include "core/report/environment.h"
#include "core/report/schema_check.h"
#include "core/train/run_report.h"
#include "tests/case_name.h"
#include "tests/unit/train/small_training.h"

#include <algorithm>

namespace ptrain {
namespace {

using namespace testing;

/// Its first update makes weights that are so large that the second step overflows.
Config overflowing(Config config, AmpLevel level, AmpDType dtype) {
  config.amp.level = level;
  config.amp.dtype = dtype;
  config.amp.scaler.enabled = Tristate::no;
  config.train.optimizer.lr = 1e30;
  config.output.numerics = true;
  return config;
}

const ValueRange& get_range(const Numerics& numerics, const std::string& tensor) {
  const auto found = std::ranges::find(numerics.ranges, tensor, &ValueRange::tensor);
  if (found == numerics.ranges.end()) throw std::runtime_error(tensor + " has no range");
  return *found;
}

TEST(Numerics, ADivergedTrainingNamesOpTensorAndStepInEveryPrecision) {
  const std::pair<AmpLevel, AmpDType> precisions[]{
      {AmpLevel::O0, AmpDType::bf16}, {AmpLevel::O1, AmpDType::bf16}, {AmpLevel::O1, AmpDType::fp16}};
  for (const auto& [level, dtype] : precisions) {
    SCOPED_TRACE(fmt::format("{} {}", enum_name(level), enum_name(dtype)));
    const RunResult result = train(overflowing(resnet_config(), level, dtype)).result;
    EXPECT_EQ(result.status, RunStatus::diverged);
    ASSERT_TRUE(result.numerics);
    ASSERT_TRUE(result.numerics->not_finite.contains(Pass::forward));
    const NonFinite& first = result.numerics->not_finite.at(Pass::forward);
    EXPECT_EQ(first.step, 2);
    EXPECT_FALSE(std::isfinite(first.value));
    const ValueRange& range = get_range(*result.numerics, first.tensor);
    EXPECT_EQ(range.op, first.op);
    EXPECT_GT(range.not_finite, 0);
    const std::string place = fmt::format("in {} ({}, forward) at step 2", first.tensor, first.op);
    EXPECT_NE(result.message.find(place), std::string::npos) << result.message;
    EXPECT_EQ(result.message.find('\n'), std::string::npos);
  }
}

TEST(Numerics, WithoutTheKeyTheMessageNamesIt) {
  Config config = overflowing(resnet_config(), AmpLevel::O0, AmpDType::bf16);
  config.output.numerics = false;
  const Outcome outcome = train(config);
  EXPECT_FALSE(outcome.result.numerics);
  EXPECT_TRUE(outcome.result.message.ends_with("; output.numerics=true names the op and tensor where it begins"))
      << outcome.result.message;
  EXPECT_TRUE(outcome.notes.empty());
}

TEST(Numerics, AWeightThatIsNotFiniteIsNamedAsTheCause) {
  Config config = overflowing(bert_config(), AmpLevel::O0, AmpDType::bf16);
  config.train.optimizer.lr = std::numeric_limits<float>::max();
  config.train.optimizer.weight_decay = 100;  // adds to the update, which overflows
  const RunResult result = train(config).result;
  ASSERT_TRUE(result.numerics && !result.numerics->not_finite.empty()) << result.message;
  EXPECT_NE(result.message.find(", whose input "), std::string::npos) << result.message;
}

TEST(Numerics, RangesCoverAllStepsAndChangeNothing) {
  for (const Config& plain : {resnet_config(), bert_config(), packed(bert_config())}) {
    SCOPED_TRACE(plain.model.entry.name);
    Config config = plain;
    config.output.numerics = true;
    const Outcome outcome = train(config);
    EXPECT_EQ(outcome.result.losses, losses(plain));
    ASSERT_TRUE(outcome.result.numerics);
    EXPECT_TRUE(outcome.result.numerics->not_finite.empty())
        << describe(outcome.result.numerics->not_finite.begin()->second);
    ASSERT_EQ(outcome.notes.size(), 1u);
    EXPECT_TRUE(outcome.notes[0].starts_with("output.numerics: values of training, all finite; largest magnitude "))
        << outcome.notes[0];
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      EXPECT_NE(std::ranges::find(outcome.result.numerics->ranges, pass, &ValueRange::phase),
                outcome.result.numerics->ranges.end());
    }
    for (const ValueRange& range : outcome.result.numerics->ranges) {
      EXPECT_GT(range.values, 0) << range.tensor;
      EXPECT_LE(range.minimum, range.maximum) << range.tensor;
      EXPECT_LE(range.zeros + range.above_f16 + range.below_f16 + range.not_finite, range.values) << range.tensor;
    }
  }
}

TEST(Numerics, OverflowThatTheScalerSkipsIsReportedAndNoDivergence) {
  Config config = resnet_config();
  config.amp.level = AmpLevel::O1;
  config.amp.dtype = AmpDType::fp16;
  config.amp.scaler.init = 1e30;
  config.output.numerics = true;
  const RunResult result = train(config).result;
  EXPECT_EQ(result.status, RunStatus::ok) << result.message;
  ASSERT_TRUE(result.numerics);
  EXPECT_GT(result.skipped_steps, 0);
  EXPECT_TRUE(result.numerics->not_finite.contains(Pass::backward));
  EXPECT_FALSE(result.numerics->not_finite.contains(Pass::forward));
}

TEST(Numerics, TheReportHasThemInItsSchema) {
  const Config config = overflowing(resnet_config(), AmpLevel::O0, AmpDType::bf16);
  const RunResult result = train(config).result;
  Report report = make_report(config);
  report.environment = capture_environment({1, {}, nlohmann::json::array()});
  const auto backend = make_test_backend();
  const auto training = open_dataset(data_settings(config), Split::train);
  fill_report(report, config, backend->kernels(), *small_model(config, training->info()), result);
  const nlohmann::json content = to_json(report);
  EXPECT_EQ(schema_problem(content, report_schema()), "");
  const nlohmann::json& numerics = content.at("numerics");
  EXPECT_EQ(numerics.at("not_finite").at(0).at("step"), 2);
  EXPECT_EQ(numerics.at("tensors").size(), result.numerics->ranges.size());
  EXPECT_GT(numerics.at("tensors").at(0).at("maximum"), 0);
}

}  // namespace
}  // namespace ptrain
