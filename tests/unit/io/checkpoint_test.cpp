#include "core/io/checkpoint.h"

#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace ptrain {
namespace {

const std::array<float, 20> stored_weights = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
const std::array<bf16, 3> stored_low = {bf16(1.0f), bf16(2.0f), bf16(-3.0f)};

std::vector<NamedTensor> tensors() {
  return {{"conv.weight", DType::f32, {4, 5}, std::as_bytes(std::span(stored_weights))},
          {"low", DType::bf16, {3}, std::as_bytes(std::span(stored_low))},
          {"none", DType::f32, {0}, {}}};
}

CheckpointInfo info_of(std::uint64_t step) {
  return {step, 2, "tiny", "c0ffee", {{"scaler", {{"scale", 65536.0}, {"good", 7}}}, {"seed", 42}}};
}

std::string parse_error(const std::string& file) {
  return error_of([&] { parse_checkpoint(std::as_bytes(std::span(file.data(), file.size())), "c.ptrain"); });
}

std::string one_file() {
  const TemporaryDirectory directory;
  return read_file(save_checkpoint(directory.path(), info_of(1), tensors(), 0));
}

TEST(Checkpoint, RoundTripKeepsEverything) {
  const TemporaryDirectory directory;
  const auto path = save_checkpoint(directory / "made" / "on demand", info_of(30), tensors(), 3);
  EXPECT_EQ(path.filename(), "ckpt-30.ptrain");
  const Checkpoint loaded = load_checkpoint(path);
  EXPECT_EQ(loaded.info().step, 30u);
  EXPECT_EQ(loaded.info().epoch, 2u);
  EXPECT_EQ(loaded.info().model, "tiny");
  EXPECT_EQ(loaded.info().config_hash, "c0ffee");
  EXPECT_EQ(loaded.info().state, info_of(30).state);
  ASSERT_EQ(loaded.tensors().size(), 3u);
  ASSERT_NE(loaded.find("conv.weight"), nullptr);
  EXPECT_EQ(loaded.find("conv.weight")->shape, (Shape{4, 5}));
  EXPECT_EQ(to_floats(*loaded.find("conv.weight")), std::vector<float>(stored_weights.begin(), stored_weights.end()));
  EXPECT_EQ(to_floats(*loaded.find("low")), (std::vector<float>{1, 2, -3}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.find("low")->bytes.data()) % 64, 0u);
  EXPECT_EQ(loaded.find("other"), nullptr);
}

TEST(Checkpoint, RefusesAFileCutAnywhere) {
  const std::string whole = one_file();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(parse_error(whole.substr(0, size)).find("c.ptrain: "), std::string::npos) << size;
  EXPECT_NE(parse_error(whole + "x").find("1 bytes after its end"), std::string::npos);
}

TEST(Checkpoint, NoticesEveryFlippedBit) {
  std::string file = one_file();
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const char mask = static_cast<char>(1 << (bit % 8));
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ mask);
    EXPECT_FALSE(parse_error(file).empty()) << "byte " << bit / 8 << " of " << file.size();
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ mask);
  }
}

TEST(Checkpoint, SaysWhatIsWrong) {
  std::string file = one_file();
  EXPECT_EQ(parse_error("some other file that is long enough"), "c.ptrain: not a ptrain checkpoint");
  file[file.find("conv.weight")] ^= 1;
  EXPECT_EQ(parse_error(file), "c.ptrain: corrupt checkpoint: header checksum");
  file = one_file();
  file[file.size() - 4 * 4 - 64 - 1] ^= 1;  // before the checksums and the padded "low" lies the end of "conv.weight"
  EXPECT_EQ(parse_error(file), "c.ptrain: corrupt checkpoint: checksum of tensor \"conv.weight\"");
}

TEST(Checkpoint, KeepsTheNewestAndClearsWhatAKilledSaveLeft) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / ".ckpt-5.ptrain.tmp.123-0", "half");
  write_file_atomic(directory / "notes.txt", "mine");
  write_file_atomic(directory / "ckpt-007.ptrain", "not made here");
  for (const std::uint64_t step : {5, 10, 100, 20}) save_checkpoint(directory.path(), info_of(step), tensors(), 2);
  EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{10, 20, 100}));
  save_checkpoint(directory.path(), info_of(101), tensors(), 2);
  EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{100, 101}));
  EXPECT_EQ(directory.entries(), 4);
}

TEST(Checkpoint, FailedSaveLeavesTheEarlierOnes) {
  const TemporaryDirectory directory;
  save_checkpoint(directory.path(), info_of(1), tensors(), 1);
  std::filesystem::create_directory(checkpoint_path(directory.path(), 2));
  error_of([&] { save_checkpoint(directory.path(), info_of(2), tensors(), 1); });
  EXPECT_EQ(load_checkpoint(checkpoint_path(directory.path(), 1)).info().step, 1u);
  error_of([&] { save_checkpoint(checkpoint_path(directory.path(), 1), info_of(2), tensors(), 1); });
}

TEST(FindLatest, TakesTheHighestStep) {
  const TemporaryDirectory directory;
  for (const std::uint64_t step : {9, 10, 100}) save_checkpoint(directory.path(), info_of(step), tensors(), 0);
  const LatestCheckpoint latest = find_latest(directory.path());
  ASSERT_TRUE(latest.checkpoint);
  EXPECT_EQ(latest.checkpoint->info().step, 100u);
  EXPECT_TRUE(latest.warnings.empty());
}

TEST(FindLatest, FallsBackPastDamagedOnesWithAWarningEach) {
  const TemporaryDirectory directory;
  for (const std::uint64_t step : {1, 2, 3, 4}) save_checkpoint(directory.path(), info_of(step), tensors(), 0);
  const auto rewrite = [&](std::uint64_t step, const std::string& content) {
    write_file_atomic(checkpoint_path(directory.path(), step), content);
  };
  const std::string good = read_file(checkpoint_path(directory.path(), 4));
  rewrite(4, good.substr(0, good.size() / 2));
  rewrite(3, "");
  rewrite(2, good);  // holds another step than its name says
  const LatestCheckpoint latest = find_latest(directory.path());
  ASSERT_TRUE(latest.checkpoint);
  EXPECT_EQ(latest.checkpoint->info().step, 1u);
  ASSERT_EQ(latest.warnings.size(), 3u);
  EXPECT_NE(latest.warnings[0].find("ckpt-4.ptrain: truncated checkpoint"), std::string::npos) << latest.warnings[0];
  EXPECT_NE(latest.warnings[2].find("holds step 4; passed over"), std::string::npos) << latest.warnings[2];
}

TEST(FindLatest, WhatCannotBeReadNowIsNotPassedOver) {
  const TemporaryDirectory directory;
  save_checkpoint(directory.path(), info_of(1), tensors(), 0);
  std::filesystem::create_directory(checkpoint_path(directory.path(), 2));
  EXPECT_NE(error_of([&] { find_latest(directory.path()); }).find("ckpt-2.ptrain: it is a directory"),
            std::string::npos);
}

TEST(FindLatest, EmptyAndMissingDirectoriesHoldNone) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(find_latest(directory.path()).checkpoint);
  EXPECT_FALSE(find_latest(directory / "none").checkpoint);
}

}  // namespace
}  // namespace ptrain
