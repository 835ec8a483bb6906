// Whole training runs on the GPU: they follow the CPU's, repeat, and do not depend on how the launches are made; a step
// takes no memory; what does not fit is refused with the plan's figure.
#include "core/config/config_enums.h"
#include "core/cpu/cpu_backend.h"
#include "core/train/evaluator.h"
#include "tests/unit/train/data_parallel.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

using namespace testing;

/// Batches of sequences of 32 to 64 tokens, which need several capacities.
Config packed_bert_config() {
  Config config = bert_config();
  config.model.max_positions = 64;
  config.data.max_length = 64;
  return packed(config);
}

std::vector<Config> both_models() { return {resnet_config(), bert_config(), packed_bert_config()}; }

TEST(DeviceTraining, FollowsTheCpu) {
  std::vector<Config> models = both_models();
  models.push_back(gpt2_config());
  for (Config config : models) {
    for (const AttentionAlgorithm attention : {AttentionAlgorithm::flash_mask, AttentionAlgorithm::math}) {
      if (config.model.entry.name == "resnet18" && attention == AttentionAlgorithm::math)
        continue;  // it has no attention
      config.model.attention = attention;
      const std::vector<double> expected = train(config, {}, [] { return cpu::make_backend(); }).result.losses;
      EXPECT_LE(difference(losses(config), expected), 2e-3);
      for (const AmpLevel level : {AmpLevel::O1, AmpLevel::O2}) {
        for (const AmpDType dtype : {AmpDType::bf16, AmpDType::fp16}) {
          SCOPED_TRACE(fmt::format("{} {} {}", config.model.entry.name, enum_name(level), enum_name(dtype)));
          Config low = config;
          low.amp.level = level;
          low.amp.dtype = dtype;
          low.train.steps = 2;
          EXPECT_LE(difference(losses(low), {expected.begin(), expected.begin() + 2}), 0.05);
        }
      }
    }
  }
}

TEST(DeviceTraining, PersistentBatchNormsKeepToPlainStatistics) {
  Config config = resnet_config();
  config.train.steps = 6;  // recorded ones are replayed
  config.batch_norm_guard_every_steps = 2;
  config.fusion = Fusion::off;  // which may leave no batch norm outside of convolutions
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1}) {
    config.amp.level = level;
    const Outcome outcome = train(config);
    std::int64_t persistent = 0;
    for (const NodeProfile& node : outcome.result.kernels) {
      persistent += node.type == "batch_norm" && node.record.batch_norm == BatchNormPart::persistent;
    }
    ASSERT_TRUE(outcome.result.batch_norm_guard);
    EXPECT_EQ(outcome.result.batch_norm_guard->compared, 3 * persistent);
    EXPECT_LT(outcome.result.batch_norm_guard->worst_drift, 1e-4);
    EXPECT_TRUE(outcome.notes.empty());
  }
}

/// Enough steps that recorded ones are replayed.
Config repeatable(Config config) {
  config.train.steps = 8;
  config.train.early_updates = Tristate::yes;
  config.deterministic = true;
  return config;
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.result.losses, b.result.losses);
  expect_same_state(a, b);
}

TEST(DeviceTraining, TheSameRunTwiceGivesTheSameBits) {
  for (const Config& model : both_models()) {
    const Config config = repeatable(model);
    expect_same(train_and_save(config), train_and_save(config));
  }
}

TEST(DeviceTraining, TablesThatAreUpdatedByRowsFollowTheCpu) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1}) {
    Config config = clicks_config();
    config.amp.level = level;
    config.amp.dtype = AmpDType::fp16;
    config.amp.scaler.init = 256;
    const std::vector<double> expected = train(config, {}, [] { return cpu::make_backend(); }).result.losses;
    EXPECT_LE(difference(losses(config), expected), level == AmpLevel::O0 ? 2e-4 : 1e-2);
    if (level == AmpLevel::O1) expect_same(train_and_save(repeatable(config)), train_and_save(repeatable(config)));
  }
}

TEST(DeviceTraining, RecordedStepsGiveTheBitsOfLaunchedOnes) {
  for (const Config& model : both_models()) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {
      for (const std::int64_t accumulate : {1, 2}) {
        Config config = repeatable(model);
        config.amp.level = level;
        config.train.accumulate_steps = accumulate;
        const Outcome recorded = train_and_save(config);
        config.cuda_graphs = false;
        expect_same(recorded, train_and_save(config));
      }
    }
  }
}

TEST(DeviceTraining, OneRankOverNcclGivesTheBitsOfNone) {
  for (const Config& model : both_models()) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1}) {
      Config config = repeatable(model);
      config.amp.level = level;
      SCOPED_TRACE(fmt::format("{} {}", config.model.entry.name, enum_name(level)));
      const TemporaryDirectory directory;
      expect_same(train_and_save(config), train_on_ranks(saved_to(directory, config), 1).front());
    }
  }
}

/// A library that reads an input again after it has written over it gives other bits in place.
TEST(DeviceTraining, StepsInPlaceGiveTheBitsOfMemoryApart) {
  for (const Config& model : {resnet_config(), bert_config()}) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1}) {
      Config config = repeatable(model);
      config.amp.level = level;
      config.fusion = Fusion::always;
      const Outcome in_place = train_and_save(config);
      config.memory_plan = false;
      expect_same(in_place, train_and_save(config));
    }
  }
}

TEST(DeviceTraining, TimesOfOpsAddUpToTheSteps) {
  for (const Config& model : both_models()) expect_ops_add_up(model);
}

/// Without dropout, whose masks differ.
TEST(DeviceTraining, PackedTextTrainsAsPaddedText) {
  for (const AttentionAlgorithm attention : {AttentionAlgorithm::flash, AttentionAlgorithm::math}) {
    for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O1, AmpLevel::O2}) {
      Config config = packed_bert_config();
      config.model.dropout = 0;
      config.model.attention = attention;
      config.amp.level = level;
      config.train.steps = 8;
      const std::vector<double> without_padding = losses(config);
      config.data.padding = Padding::max_length;
      EXPECT_LE(difference(without_padding, losses(config)), level == AmpLevel::O0 ? 1e-4 : 0.05);
    }
  }
}

TEST(DeviceTraining, NormsInConvolutionsTrainAsApart) {
  for (const AmpDType dtype : {AmpDType::fp16, AmpDType::bf16}) {
    Config config = resnet_config();
    config.amp.level = AmpLevel::O2;
    config.amp.dtype = dtype;
    config.fusion = Fusion::off;
    const std::vector<double> apart = losses(config);
    for (const Fusion fusion : {Fusion::full, Fusion::always}) {
      config.fusion = fusion;
      EXPECT_LE(difference(losses(config), apart), 0.05);
    }
  }
}

/// How many kernels of a run call themselves `prefix`...
int count_kernels(const RunResult& result, std::string_view type, std::string_view prefix) {
  int count = 0;
  for (const NodeProfile& node : result.kernels)
    count += node.type == type && node.record.implementation.starts_with(prefix);
  return count;
}

/// What the first kernel of that type says of itself.
std::string first_kernel(const RunResult& result, std::string_view type) {
  for (const NodeProfile& node : result.kernels) {
    if (node.type == type) return node.record.implementation;
  }
  return "none";
}

OptionEffects get_effects(const Config& config, const RunResult& result) {
  std::vector<KernelRecord> kernels;
  for (const NodeProfile& node : result.kernels) kernels.push_back(node.record);
  return make_test_backend()->kernels().effects(plan_options(config).kernels, kernels);
}

TEST(DeviceTraining, TheReportSaysOfTheFlagsWhatTheKernelsRan) {
  Config config = resnet_config();
  config.amp.level = AmpLevel::O2;
  config.train.steps = 1;
  config.fusion = Fusion::off;
  for (const bool persistent : {true, false}) {
    config.flags.cudnn_batchnorm_spatial_persistent = persistent;
    const RunResult result = train(config).result;
    const int norms = count_kernels(result, "batch_norm", "");
    EXPECT_EQ(count_kernels(result, "batch_norm", "persistent cudnn:"), persistent ? norms : 0);
    EXPECT_EQ(count_kernels(result, "batch_norm", "native:spatial"), persistent ? 0 : norms);
    EXPECT_EQ(count_kernels(result, "conv2d", "cudnn:"), norms);
    EXPECT_EQ(get_effects(config, result).persistent_batch_norm.value, persistent);
  }
  config.flags.cudnn_batchnorm_spatial_persistent = true;
  config.fusion = Fusion::always;
  const RunResult fused = train(config).result;
  // The stem's convolution, of four channels, is the one that cuDNN cannot fuse.
  const int convolutions = count_kernels(fused, "conv2d_batch_norm", "");
  EXPECT_EQ(count_kernels(fused, "conv2d_batch_norm", "fused cudnn:"), convolutions - 1);
  EXPECT_EQ(count_kernels(fused, "batch_norm_finalize", ""), convolutions);
  const std::string reason = get_effects(config, fused).persistent_batch_norm.reason;
  EXPECT_NE(reason.find(fmt::format("{} batch norms are fused into convolutions", convolutions)), std::string::npos)
      << reason;
}

TEST(DeviceTraining, AResumedRunEndsWhereTheUninterruptedOneDoes) {
  for (const AmpLevel level : {AmpLevel::O0, AmpLevel::O2}) {  // in O2 cuDNN draws attention's dropout
    Config config = repeatable(bert_config());
    config.amp.level = level;
    expect_resumes_exactly(config, 5, 8);
  }
}

/// A mask would be elements of 2 bytes, one for each pair of tokens and each head. Before 9.18 cuDNN has no packed
/// attention.
TEST(DeviceTraining, DropoutThatCudnnDrawsTakesNoMaskInMemory) {
  for (Config config : {bert_config(), packed_bert_config(), gpt2_config()}) {
    config.amp.level = AmpLevel::O2;
    config.data.max_length = config.model.max_positions = 256;
    config.train.steps = 1;
    const auto with = [&](AttentionAlgorithm attention) {
      config.model.attention = attention;
      return train(config).result;
    };
    const RunResult drawn = with(AttentionAlgorithm::flash), masked = with(AttentionAlgorithm::flash_mask);
    if (first_kernel(drawn, "attention").find("packed sequences need") != std::string::npos) continue;
    for (const char* type : {"attention", "attention_grad"}) {
      const int layers = count_kernels(drawn, type, "");
      EXPECT_GT(layers, 0);
      EXPECT_EQ(count_kernels(drawn, type, "flash cudnn:"), layers) << first_kernel(drawn, type);
      EXPECT_EQ(count_kernels(masked, type, "flash_mask cudnn:"), layers) << first_kernel(masked, type);
    }
    const std::int64_t pairs = config.data.batch_size * 256 * 256;
    EXPECT_GE(masked.workspace_bytes, drawn.workspace_bytes + 2 * pairs);
    EXPECT_NE(drawn.losses, masked.losses);
  }
}

TEST(DeviceTraining, EvaluatesAsTheCpuDoes) {
  for (Config config : both_models()) {
    config.eval.every_epochs = 1;
    const EvalResult expected = train(config, {}, [] { return cpu::make_backend(); }).result.evaluations.at(0);
    const EvalResult actual = train(config).result.evaluations.at(0);
    EXPECT_EQ(actual.evaluation.eval_samples, expected.evaluation.eval_samples);
    EXPECT_NEAR(actual.loss.value(), expected.loss.value(), 5e-3 * expected.loss.value());
  }
}

/// Device memory that is left after each step.
class MemoryWatch final : public TrainObserver {
 public:
  explicit MemoryWatch(const DeviceMemory& memory) : memory_(memory) {}
  void on_step(const Step&) override { left.push_back(memory_.available()); }
  std::vector<std::size_t> left;

 private:
  const DeviceMemory& memory_;
};

TEST(DeviceTraining, StepsTakeNoMemoryBesideThePlans) {
  for (Config config : both_models()) {
    config.train.steps = 40;
    const auto training = open_dataset(data_settings(config), Split::train);
    const auto model = small_model(config, training->info());
    const auto backend = make_test_backend();
    MemoryWatch watch(backend->memory());
    Trainer trainer(config, "hash", *backend, *model, *training, nullptr, watch);
    trainer.compile();
    trainer.prepare();
    trainer.train();
    const RunResult& result = trainer.result();
    // Inputs of the plans for numbers of packed tokens that the first batches did not have.
    const std::int64_t late_inputs = config.data.padding == Padding::none ? 1 << 20 : 0;
    EXPECT_GE(result.measured_peak_bytes, result.planned_peak_bytes);
    EXPECT_LE(result.measured_peak_bytes, result.planned_peak_bytes + late_inputs);
    ASSERT_EQ(watch.left.size(), 40u);
    // The first steps record the launches; blocks for copies may still be added after that, up to their bound.
    constexpr std::size_t copy_blocks = std::size_t{128} << 20;
    EXPECT_LE(watch.left[6], watch.left.back() + copy_blocks);
  }
}

TEST(DeviceTraining, ABatchThatDoesNotFitIsRefusedWithThePlansFigure) {
  Config config = resnet_config();
  config.data.batch_size = 1'000'000;
  config.data.image_size = 224;
  const auto training = open_dataset(data_settings(config), Split::train);
  const auto model = small_model(config, training->info());
  const auto backend = make_test_backend();
  NoteKeeper observer;
  const Trainer trainer(config, "hash", *backend, *model, *training, nullptr, observer);
  try {
    trainer.check_memory();
    FAIL() << "a million images fit";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    EXPECT_NE(std::string(error.what()).find("by the memory plan"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("would fit"), std::string::npos) << error.what();
  }
}

TEST(DeviceMemory, RunningOutIsOneErrorAndTheBackendGoesOn) {
  const auto backend = make_test_backend();
  EXPECT_THROW(backend->memory().allocate(std::size_t{1} << 50), OutOfMemory);
  const DeviceBuffer buffer(backend->memory(), 1 << 20);
  std::vector<std::byte> bytes(1 << 20, std::byte{1});
  backend->memory().copy_to_host(bytes.data(), buffer.data(), bytes.size());
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}), 1 << 20) << "memory is zeroed";
}

TEST(DeviceMemory, CopiesLargerThanTheStagingBlocksArrive) {
  const auto backend = make_test_backend();
  std::vector<std::uint32_t> sent(std::size_t{50} << 20), received(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::uint32_t>(i * 2654435761u);
  const std::size_t bytes = sent.size() * sizeof(std::uint32_t);
  const DeviceBuffer buffer(backend->memory(), bytes);
  backend->memory().copy_to_device(buffer.data(), sent.data(), bytes);
  std::vector<std::uint32_t> original = sent;
  std::fill(sent.begin(), sent.end(), 0u);  // the host's memory is free again
  backend->memory().copy_to_host(received.data(), buffer.data(), bytes);
  EXPECT_TRUE(received == original);
}

}  // namespace
}  // namespace ptrain
