#include "core/io/checkpoint.h"

#include "core/io/safetensors.h"

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

CheckpointInfo get_info(std::uint64_t step) {
  return {step, 2, "tiny", "c0ffee", {{"scaler", {{"scale", 65536.0}, {"good", 7}}}, {"seed", 42}}};
}

std::string parse_error(const std::string& file) {
  return get_error([&] { parse_checkpoint(std::as_bytes(std::span(file.data(), file.size())), "c.safetensors"); });
}

std::string one_file() {
  const TemporaryDirectory directory;
  return read_file(save_checkpoint(directory.path(), get_info(1), tensors(), 0));
}

TEST(Checkpoint, RoundTripKeepsEverything) {
  const TemporaryDirectory directory;
  const auto path = save_checkpoint(directory / "made" / "on demand", get_info(30), tensors(), 3);
  EXPECT_EQ(path.filename(), "ckpt-30.safetensors");
  const Checkpoint loaded = load_checkpoint(path);
  EXPECT_EQ(loaded.info().step, 30u);
  EXPECT_EQ(loaded.info().epoch, 2u);
  EXPECT_EQ(loaded.info().model, "tiny");
  EXPECT_EQ(loaded.info().config_hash, "c0ffee");
  EXPECT_EQ(loaded.info().state, get_info(30).state);
  ASSERT_EQ(loaded.tensors().size(), 3u);
  ASSERT_NE(loaded.find("conv.weight"), nullptr);
  EXPECT_EQ(loaded.find("conv.weight")->shape, (Shape{4, 5}));
  EXPECT_EQ(to_floats(*loaded.find("conv.weight")), std::vector<float>(stored_weights.begin(), stored_weights.end()));
  EXPECT_EQ(to_floats(*loaded.find("low")), (std::vector<float>{1, 2, -3}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.find("conv.weight")->bytes.data()) % 4, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(loaded.find("low")->bytes.data()) % 2, 0u);
  EXPECT_EQ(loaded.find("other"), nullptr);
}

TEST(Checkpoint, RefusesAFileCutAnywhere) {
  const std::string whole = one_file();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(parse_error(whole.substr(0, size)).find("c.safetensors: "), std::string::npos) << size;
  EXPECT_NE(parse_error(whole + "x").find("1 bytes after the last tensor"), std::string::npos);
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
  EXPECT_NE(parse_error("some other file that is long enough").find("not safetensors"), std::string::npos);
  file[file.find("conv.weight")] ^= 1;
  EXPECT_EQ(parse_error(file), "c.safetensors: corrupt checkpoint: header checksum");
  file = one_file();
  const std::size_t checksums = 5 * 4, low = 3 * 2;  // what follows "conv.weight"
  file[file.size() - checksums - low - 1] ^= 1;
  EXPECT_EQ(parse_error(file), "c.safetensors: corrupt checkpoint: checksum of tensor \"conv.weight\"");
  file = one_file();
  file.back() ^= 1;
  EXPECT_EQ(parse_error(file), "c.safetensors: corrupt checkpoint: checksum of the checksums");
  const TemporaryDirectory directory;
  write_safetensors(directory / "weights", tensors());
  EXPECT_EQ(parse_error(read_file(directory / "weights")), "c.safetensors: not a ptrain checkpoint");
}

/// Made by the last program that wrote this format.
std::string first_format() { return read_file(PTRAIN_SOURCE_DIR "/tests/fuzz/corpus/checkpoint/small_v1.ptrain"); }

TEST(CheckpointV1, IsStillRead) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "ckpt-3.ptrain", first_format());
  const Checkpoint loaded = load_checkpoint(directory / "ckpt-3.ptrain");
  EXPECT_EQ(loaded.info().step, 3u);
  EXPECT_EQ(loaded.info().epoch, 1u);
  EXPECT_EQ(loaded.info().model, "tiny");
  EXPECT_EQ(loaded.info().config_hash, "c0ffee");
  EXPECT_EQ(loaded.info().state, nlohmann::json({{"scale", 2.0}}));
  ASSERT_EQ(loaded.tensors().size(), 2u);
  EXPECT_EQ(loaded.find("w")->shape, (Shape{2, 2}));
  EXPECT_EQ(to_floats(*loaded.find("w")), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(loaded.find("none")->dtype, DType::bf16);
}

TEST(CheckpointV1, NoticesEveryFlippedBitAndEveryCut) {
  const std::string whole = first_format();
  std::string file = whole;
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(parse_error(file).empty()) << "byte " << bit / 8 << " of " << file.size();
    file[bit / 8] = whole[bit / 8];
  }
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(parse_error(whole.substr(0, size)).empty());
}

TEST(CheckpointV1, CountsAmongTheOthers) {
  const TemporaryDirectory directory;
  const auto find_name = [&] { return find_latest(directory.path()).checkpoint->path().filename(); };
  write_file_atomic(directory / "ckpt-3.ptrain", first_format());
  write_file_atomic(directory / ".ckpt-0.ptrain.tmp.123-0", "half");
  EXPECT_EQ(find_name(), "ckpt-3.ptrain");
  save_checkpoint(directory.path(), get_info(3), tensors(), 2);
  EXPECT_EQ(find_name(), "ckpt-3.safetensors");
  EXPECT_EQ(directory.entries(), 2);
  write_file_atomic(checkpoint_path(directory.path(), 3), "damaged");
  EXPECT_EQ(find_name(), "ckpt-3.ptrain");
  save_checkpoint(directory.path(), get_info(4), tensors(), 2);
  EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{3, 4}));
  save_checkpoint(directory.path(), get_info(5), tensors(), 2);
  EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(directory.entries(), 2);
  remove_checkpoints(directory.path());
  EXPECT_EQ(directory.entries(), 0);
}

TEST(Checkpoint, KeepsTheNewestAndClearsWhatAKilledSaveLeft) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / ".ckpt-5.safetensors.tmp.123-0", "half");
  write_file_atomic(directory / "notes.txt", "mine");
  write_file_atomic(directory / "ckpt-007.safetensors", "not made here");
  for (const std::uint64_t step : {5, 10, 100, 20}) save_checkpoint(directory.path(), get_info(step), tensors(), 2);
  EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{10, 20, 100}));
  save_checkpoint(directory.path(), get_info(101), tensors(), 2);
  EXPECT_EQ(list_checkpoints(directory.path()), (std::vector<std::uint64_t>{100, 101}));
  EXPECT_EQ(directory.entries(), 4);
}

TEST(Checkpoint, FailedSaveLeavesTheEarlierOnes) {
  const TemporaryDirectory directory;
  save_checkpoint(directory.path(), get_info(1), tensors(), 1);
  std::filesystem::create_directory(checkpoint_path(directory.path(), 2));
  get_error([&] { save_checkpoint(directory.path(), get_info(2), tensors(), 1); });
  EXPECT_EQ(load_checkpoint(checkpoint_path(directory.path(), 1)).info().step, 1u);
  get_error([&] { save_checkpoint(checkpoint_path(directory.path(), 1), get_info(2), tensors(), 1); });
}

TEST(FindLatest, TakesTheHighestStep) {
  const TemporaryDirectory directory;
  for (const std::uint64_t step : {9, 10, 100}) save_checkpoint(directory.path(), get_info(step), tensors(), 0);
  const LatestCheckpoint latest = find_latest(directory.path());
  ASSERT_TRUE(latest.checkpoint);
  EXPECT_EQ(latest.checkpoint->info().step, 100u);
  EXPECT_TRUE(latest.warnings.empty());
}

TEST(FindLatest, FallsBackPastDamagedOnesWithAWarningEach) {
  const TemporaryDirectory directory;
  for (const std::uint64_t step : {1, 2, 3, 4}) save_checkpoint(directory.path(), get_info(step), tensors(), 0);
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
  EXPECT_NE(latest.warnings[0].find("ckpt-4.safetensors: truncated"), std::string::npos) << latest.warnings[0];
  EXPECT_NE(latest.warnings[2].find("holds step 4; passed over"), std::string::npos) << latest.warnings[2];
}

TEST(FindLatest, WhatCannotBeReadNowIsNotPassedOver) {
  const TemporaryDirectory directory;
  save_checkpoint(directory.path(), get_info(1), tensors(), 0);
  std::filesystem::create_directory(checkpoint_path(directory.path(), 2));
  EXPECT_NE(get_error([&] { find_latest(directory.path()); }).find("ckpt-2.safetensors: it is a directory"),
            std::string::npos);
}

TEST(FindLatest, EmptyAndMissingDirectoriesHoldNone) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(find_latest(directory.path()).checkpoint);
  EXPECT_FALSE(find_latest(directory / "none").checkpoint);
}

}  // namespace
}  // namespace ptrain
