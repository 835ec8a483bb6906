// What a library refuses when it is first asked does not end a run: another way is taken, and a note says so.
#include "core/config/config_enums.h"
#include "core/train/input/image_decoders.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"
#include "tests/unit/train/small_training.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace ptrain {
namespace {

using namespace testing;

/// While one lives, the emulated libraries have a fault, and an empty cache.
class Fault {
 public:
  explicit Fault(const char* what) : cache_(std::getenv("PTRAIN_CACHE_DIR")) {
    setenv("EMULATED_FAULT", what, 1);
    setenv("PTRAIN_CACHE_DIR", folder_.path().c_str(), 1);
  }
  ~Fault() {
    unsetenv("EMULATED_FAULT");
    setenv("PTRAIN_CACHE_DIR", cache_.c_str(), 1);
  }
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;

 private:
  std::string cache_;
  TemporaryDirectory folder_;
};

Config short_config(Config config) {
  config.train.steps = 3;  // the last is replayed
  config.flags.cudnn_exhaustive_search = false;
  config.fusion = Fusion::off;
  return config;
}

/// The run's notes with a fault, with which it trains as without.
std::vector<std::string> notes_with(const char* what, const Config& config) {
  const std::vector<double> expected = train(config).result.losses;
  const Fault fault(what);
  const Outcome outcome = train(config);
  EXPECT_EQ(outcome.result.losses, expected);
  return outcome.notes;
}

TEST(Faults, ARecordingThatFailsLaunchesOneByOne) {
  const std::vector<std::string> notes = notes_with("instantiation", short_config(bert_config()));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("cuda_graphs: recording a step failed; its launches are made one by one: "))
      << notes[0];
}

TEST(Faults, APlanThatCannotBeRunGivesWayToTheNext) {
  const std::vector<std::string> notes = notes_with("plan emulated_eng0", short_config(resnet_config()));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("cuDNN: emulated_eng0 could not be run; emulated_eng1 runs instead: ")) << notes[0];
}

TEST(Faults, TheNextRunBeginsWithThePlanThatRuns) {
  const Config config = short_config(resnet_config());
  const Fault fault("plan emulated_eng0");
  EXPECT_EQ(train(config).notes.size(), 1u);
  EXPECT_TRUE(train(config).notes.empty());
}

TEST(Faults, AnAlgorithmThatCannotBeRunGivesWayToTheNext) {
  const std::vector<std::string> notes = notes_with("algorithm 0", short_config(bert_config()));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("cuBLASLt: ")) << notes[0];
}

TEST(Faults, CandidatesOfABatchNormCompileAtTheSameTime) {
  Config config = short_config(resnet_config());
  config.flags.cudnn_exhaustive_search = true;
  config.train.steps = 1;
  const Fault fault("lonely compilation");
  int persistent = 0;
  for (const NodeProfile& node : train(config).result.kernels) {
    persistent += node.record.batch_norm == BatchNormPart::persistent;
  }
  EXPECT_GT(persistent, 0);
}

TEST(Faults, WhereCudnnOrdersMasksOtherwiseOwnKernelsWriteAndReadThem) {
  Config config = short_config(resnet_config());
  config.fusion = Fusion::full;
  const std::vector<double> expected = losses(config);
  const Fault fault("order of masks");
  const RunResult result = train(config).result;
  EXPECT_LT(difference(result.losses, expected), 1e-3);
  int own = 0, persistent = 0;
  for (const NodeProfile& node : result.kernels) {
    if (!node.type.starts_with("batch_norm")) continue;
    own += node.record.implementation == "native:spatial (cuDNN orders the bits of masks differently)";
    persistent += node.record.batch_norm == BatchNormPart::persistent;
  }
  EXPECT_GT(own, 0);
  EXPECT_GT(persistent, 0);
}

/// cuDNN plans their sum with the norm's gradient, but cannot run it.
TEST(Faults, OwnKernelsTakeTwoGradientsOfABatchNorm) {
  Config config = short_config(resnet_config());
  config.fusion = Fusion::always;
  const Outcome outcome = train(config);
  EXPECT_TRUE(outcome.notes.empty());
  int own = 0;
  for (const NodeProfile& node : outcome.result.kernels) {
    own += node.record.implementation == "native:spatial (cuDNN's takes one gradient)";
  }
  EXPECT_GT(own, 0);
}

/// Whichever direction it is that cuDNN has no plan for.
TEST(Faults, DropoutThatCudnnDoesNotDrawIsAMaskInBothDirections) {
  Config config = short_config(bert_config());
  config.amp.level = AmpLevel::O2;
  config.model.attention = AttentionAlgorithm::flash_mask;
  const std::vector<double> expected = train(config).result.losses;
  config.model.attention = AttentionAlgorithm::flash;
  for (const char* what : {"draw of attention", "draw of attention_grad"}) {
    const Fault fault(what);
    const RunResult result = train(config).result;
    EXPECT_EQ(result.losses, expected) << what;
    for (const NodeProfile& node : result.kernels) {
      if (!node.type.starts_with("attention")) continue;
      EXPECT_EQ(node.record.implementation, "flash_mask cudnn:emulated_eng0 (flash: emulated: no dropout)");
    }
  }
}

TEST(Faults, APlanThatCannotBeSavedRunsAllTheSame) {
  EXPECT_TRUE(notes_with("saving", short_config(resnet_config())).empty());
}

TEST(Faults, WithoutNvjpegTheKeyThatAsksForItIsRefused) {
  DataConfig data;
  data.source = "image_folder";
  data.decoder = Decoder::gpu;
  const auto backend = make_test_backend();
  const Fault fault("no nvJPEG");
  const std::string message = get_error([&] { image_decoders(data, *backend, Ranks(nullptr)); }, ExitCode::usage);
  EXPECT_TRUE(message.starts_with("data.decoder: expected cpu or auto, got gpu: libnvjpeg.so.")) << message;
  EXPECT_NE(message.find("pip install nvidia-nvjpeg"), std::string::npos) << message;
}

TEST(Faults, ImagesThatNvjpegDoesNotImplementAreLeftToTheHost) {
  constexpr int width = 40, height = 30;
  const std::vector<std::uint8_t> jpeg = encode_jpeg(make_picture(width, height), width, height, JpegKind::rgb);
  const auto backend = make_test_backend();
  const auto decoder = backend->image_decoders()();
  EXPECT_EQ(decoder->decode(jpeg, width, height).size(), std::size_t{3} * width * height);
  const Fault fault("nvJPEG implementation");
  EXPECT_TRUE(decoder->decode(jpeg, width, height).empty());
}

TEST(Faults, WhereNothingRunsTheErrorIsTheFirstOnes) {
  Config config = short_config(resnet_config());
  const Fault fault("plan *");
  EXPECT_THROW(train(config), Error);
}

}  // namespace
}  // namespace ptrain
