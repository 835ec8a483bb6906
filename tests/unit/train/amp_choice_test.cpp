#include "core/train/amp_choice.h"

#include "core/io/checkpoint.h"
#include "core/train/measure/cached_device_rates.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace ptrain {
namespace {

constexpr double giga = 1e9;

/// Of products and convolutions alike, in GFLOP/s; 0: cannot run.
DeviceRates rates(double fp32, double bf16, double fp16) {
  const auto of = [](double rate) {
    PrecisionRates both;
    if (rate > 0) both.product = both.convolution = rate * giga;
    return both;
  };
  DeviceRates all;
  all.fp32 = of(fp32);
  all.bf16 = of(bf16);
  all.fp16 = of(fp16);
  return all;
}

AmpChoice choose(const AmpConfig& asked, const DeviceRates& rates, DType preferred = DType::bf16) {
  return choose_amp(asked, advise_amp(rates, MainWork::convolutions, preferred), preferred);
}

Config get_config(std::optional<AmpLevel> level, AmpDType dtype = AmpDType::automatic) {
  Config config;
  config.model.entry = find_model("resnet18");
  config.amp.level = level;
  config.amp.dtype = dtype;
  return config;
}

TEST(AmpChoice, AutoIsO1WhereLowPrecisionIsMeasuredToBeFaster) {
  AmpConfig open;
  open.level = std::nullopt;
  EXPECT_EQ(choose(open, rates(430, 900, 300)).level, AmpLevel::O1);
  EXPECT_EQ(choose(open, rates(245, 151, 225)).level, AmpLevel::O0);
  EXPECT_EQ(choose(open, rates(245, 250, 0)).level, AmpLevel::O0) << "two hundredths do not pay for the casts";
  EXPECT_EQ(choose(open, rates(100, 0, 0)).level, AmpLevel::O0);
  EXPECT_EQ(choose(open, DeviceRates{}).level, AmpLevel::O0);
}

TEST(AmpChoice, TheReasonHoldsTheFigures) {
  AmpConfig open;
  open.level = std::nullopt;
  EXPECT_EQ(choose(open, rates(245, 151, 20)).reason,
            "bf16 3x3 convolutions run at 0.62 of fp32's rate here (151 of 245 GFLOP/s)");
  EXPECT_EQ(choose(open, rates(245, 0, 0)).reason, "bf16 3x3 convolutions cannot run here");
  EXPECT_EQ(choose({}, rates(245, 151, 20)).reason, "") << "nothing was left open";
}

TEST(AmpChoice, ImagesGoByConvolutionsAndTextByProducts) {
  DeviceRates mixed = rates(200, 400, 0);
  mixed.bf16.convolution = 100 * giga;
  EXPECT_EQ(advise_amp(mixed, MainWork::convolutions, DType::bf16).level, AmpLevel::O0);
  EXPECT_EQ(advise_amp(mixed, MainWork::products, DType::bf16).level, AmpLevel::O1);
}

TEST(AmpChoice, OneThreadsRatesDecideWhereTheyAreKnown) {
  DeviceRates busy = rates(3, 4, 2);
  busy.threads = 2;
  busy.fp32.convolution_one_thread = 125 * giga;
  busy.bf16.convolution_one_thread = 75 * giga;
  busy.fp16.convolution_one_thread = 60 * giga;
  const AmpAdvice advice = advise_amp(busy, MainWork::convolutions, DType::bf16);
  EXPECT_EQ(advice.level, AmpLevel::O0);
  EXPECT_EQ(advice.reason, "bf16 3x3 convolutions run at 0.60 of fp32's rate here (75 of 125 GFLOP/s, one thread)");
}

TEST(AmpChoice, TheBackendsLowPrecisionStandsUnlessTheOtherIsClearlyFaster) {
  AmpConfig o1;
  o1.level = AmpLevel::O1;
  EXPECT_EQ(choose(o1, rates(245, 151, 225)).dtype, AmpDType::fp16);
  EXPECT_EQ(choose(o1, rates(245, 151, 160)).dtype, AmpDType::automatic);
  EXPECT_EQ(choose(o1, rates(50e3, 700e3, 710e3), DType::f16).dtype, AmpDType::automatic);
  o1.dtype = AmpDType::bf16;
  EXPECT_EQ(choose(o1, rates(245, 151, 225)).dtype, AmpDType::bf16) << "asked for by name";
}

TEST(AmpChoice, SettlingLeavesNothingOpenAndNotesALevelThatIsSlower) {
  const auto backend = testing::make_test_backend();
  const Ranks alone(nullptr);
  const DeviceRates slow_bf16 = rates(245, 151, 100);
  Config open = get_config(std::nullopt);
  const AmpChoice choice = settle_amp(open, backend->kernels().preferred_low_precision(), &slow_bf16, alone);
  EXPECT_EQ(open.amp.level, AmpLevel::O0);
  EXPECT_EQ(choice.requested, "auto");
  EXPECT_EQ(choice.note, "");

  Config o1 = get_config(AmpLevel::O1, AmpDType::bf16);
  EXPECT_EQ(settle_amp(o1, backend->kernels().preferred_low_precision(), &slow_bf16, alone).note,
            "amp.level O1: O0 would be faster: bf16 3x3 convolutions run at 0.62 of fp32's rate here (151 of 245 "
            "GFLOP/s)");
  EXPECT_EQ(o1.amp.level, AmpLevel::O1) << "what is asked for by name stays";
}

TEST(AmpChoice, AVisionTransformerIsOfMatrixProducts) {
  const auto backend = testing::make_test_backend();
  DeviceRates known = rates(245, 151, 100);
  known.fp32.product = 200e9, known.bf16.product = 390e9;
  for (const auto& [name, level] : {std::pair{"resnet50", AmpLevel::O0}, {"vit_b_16", AmpLevel::O1}}) {
    Config config = get_config(std::nullopt);
    config.model.entry = find_model(name);
    const AmpChoice choice = settle_amp(config, backend->kernels().preferred_low_precision(), &known, Ranks(nullptr));
    EXPECT_EQ(choice.level, level) << name << ": " << choice.reason;
  }
}

TEST(AmpChoice, AResumedRunKeepsItsCheckpointsPrecision) {
  const TemporaryDirectory directory;
  CheckpointInfo info;
  info.step = 7;
  info.state = {{"amp", {{"level", "O1"}, {"dtype", "fp16"}}}};
  save_checkpoint(directory.path(), info, {}, 0);
  const auto backend = testing::make_test_backend();
  const DeviceRates slow = rates(245, 151, 100);
  Config config = get_config(std::nullopt);
  config.output.dir = directory.path().string();
  config.resume = "auto";
  const AmpChoice choice = settle_amp(config, backend->kernels().preferred_low_precision(), &slow, Ranks(nullptr));
  EXPECT_EQ(config.amp.level, AmpLevel::O1);
  EXPECT_EQ(config.amp.dtype, AmpDType::fp16);
  EXPECT_EQ(choice.reason, "the checkpoint's");
}

TEST(DeviceRates, AreMeasuredOnceAndThenKnown) {
  const TemporaryDirectory directory;
  setenv("PTRAIN_CACHE_DIR", directory.path().c_str(), 1);
  const auto backend = testing::make_test_backend();
  const DeviceRates first = cached_device_rates(*backend, {});
  ASSERT_TRUE(first.fp32.product && first.fp32.convolution && first.memory_bandwidth);
  EXPECT_GT(*first.fp32.product, giga / 10);
  EXPECT_EQ(cached_device_rates(*backend, {}).fp32.product, first.fp32.product)
      << "no second measurement gives these bits";
  EXPECT_EQ(cached_device_rates(*testing::make_test_backend(), {}).bf16.convolution, first.bf16.convolution);
  unsetenv("PTRAIN_CACHE_DIR");
}

TEST(DeviceRates, OfABusyMachineAreMeasuredAgainLater) {
  const TemporaryDirectory directory;
  setenv("PTRAIN_CACHE_DIR", directory.path().c_str(), 1);
  const auto backend = testing::make_test_backend();
  const DeviceRates first = cached_device_rates(*backend, {});
  const std::filesystem::path file = std::filesystem::directory_iterator(directory.path())->path();
  nlohmann::json known = nlohmann::json::parse(std::ifstream(file));
  known["disturbed"] = true;
  std::ofstream(file) << known.dump();
  EXPECT_EQ(cached_device_rates(*backend, {}).fp32.product, first.fp32.product);
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) - std::chrono::hours(1));
  EXPECT_NE(cached_device_rates(*backend, {}).fp32.product, first.fp32.product);
  unsetenv("PTRAIN_CACHE_DIR");
}

}  // namespace
}  // namespace ptrain
