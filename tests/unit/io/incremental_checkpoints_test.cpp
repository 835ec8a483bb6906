#include "core/io/incremental_checkpoints.h"

#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ptrain {
namespace {

/// Rows of 4 floats, the first of which are larger by `change`.
std::vector<float> make_rows(std::size_t rows, std::size_t changed_rows = 0, float change = 0) {
  std::vector<float> values(rows * 4);
  std::iota(values.begin(), values.end(), 0.0f);
  for (std::size_t i = 0; i < changed_rows * 4; ++i) values[i] += change;
  return values;
}

/// The bytes of a tensor, with the changes of a checkpoint.
std::vector<float> read_rows(const Checkpoint& checkpoint, std::string_view name = "table") {
  const SavedTensor saved = checkpoint.find_saved(name).value();
  std::vector<float> values(static_cast<std::size_t>(saved.shape.count()));
  std::memcpy(values.data(), saved.bytes.data(), saved.bytes.size());
  for (const auto& [begin, bytes] : saved.changed) {
    std::memcpy(reinterpret_cast<std::byte*>(values.data()) + begin, bytes.data(), bytes.size());
  }
  return values;
}

class IncrementalCheckpointsTest : public ::testing::Test {
 protected:
  std::filesystem::path save(std::uint64_t step, const std::vector<float>& rows, int keep = 0) {
    const std::vector<float> dense{static_cast<float>(step)};
    const std::vector<NamedTensor> tensors{
        {"dense", DType::f32, {1}, std::as_bytes(std::span(dense))},
        {"table", DType::f32, {std::ssize(rows) / 4, 4}, std::as_bytes(std::span(rows))}};
    return saver_.save(directory_.path(), {step, 0, "tiny", "", {}}, tensors, keep,
                       [](std::string_view name) { return name == "table"; });
  }
  std::vector<std::uint64_t> kept() const { return list_checkpoints(directory_.path()); }

  const TemporaryDirectory directory_;
  IncrementalCheckpoints saver_{3};
};

TEST_F(IncrementalCheckpointsTest, HoldWhatHasChangedSinceAWholeOne) {
  constexpr std::size_t rows = 100'000;
  const auto whole = save(1, make_rows(rows));
  const auto first = save(2, make_rows(rows, 1, 0.5f)), second = save(3, make_rows(rows, 40, 2));
  EXPECT_LT(std::filesystem::file_size(second) * 100, std::filesystem::file_size(whole));
  EXPECT_FALSE(load_checkpoint(whole).info().base);
  EXPECT_EQ(load_checkpoint(first).info().base.value().step, 1u);
  EXPECT_EQ(read_rows(load_checkpoint(whole)), make_rows(rows));
  EXPECT_EQ(read_rows(load_checkpoint(first)), make_rows(rows, 1, 0.5f));
  EXPECT_EQ(read_rows(load_checkpoint(second)), make_rows(rows, 40, 2));
  EXPECT_EQ(read_rows(load_checkpoint(second), "dense"), std::vector<float>{3});
  EXPECT_FALSE(load_checkpoint(second).find_saved("other"));
  EXPECT_FALSE(load_checkpoint(save(4, make_rows(rows, 40, 2))).info().base) << "every third is whole";
}

/// The last block is not whole, and another one once rows have joined.
TEST_F(IncrementalCheckpointsTest, HoldRowsThatHaveJoined) {
  save(1, make_rows(10'001));
  EXPECT_EQ(read_rows(load_checkpoint(save(2, make_rows(10'101, 1, 1)))), make_rows(10'101, 1, 1));
  EXPECT_EQ(read_rows(load_checkpoint(save(3, make_rows(10'000)))), make_rows(10'000)) << "fewer than before";
}

/// They fill up a block whose end was not there before.
TEST_F(IncrementalCheckpointsTest, HoldRowsOfZerosThatHaveJoined) {
  save(1, std::vector<float>(1000 * 4));
  EXPECT_EQ(read_rows(load_checkpoint(save(2, std::vector<float>(1001 * 4)))), std::vector<float>(1001 * 4));
}

TEST_F(IncrementalCheckpointsTest, HoldTablesThatHaveNoRowsYet) {
  save(1, {});
  EXPECT_EQ(read_rows(load_checkpoint(save(2, {}))), std::vector<float>());
  EXPECT_EQ(read_rows(load_checkpoint(save(3, make_rows(1000)))), make_rows(1000));
}

TEST_F(IncrementalCheckpointsTest, HoldAllWhereMuchHasChanged) {
  save(1, make_rows(1000));
  const Checkpoint second = load_checkpoint(save(2, make_rows(1000, 500, 1)));
  EXPECT_TRUE(second.info().base);
  EXPECT_NE(second.find("table"), nullptr);
  EXPECT_EQ(read_rows(second), make_rows(1000, 500, 1));
}

TEST_F(IncrementalCheckpointsTest, KeepTheirBase) {
  using Steps = std::vector<std::uint64_t>;
  for (const std::uint64_t step : {1, 2, 3}) save(step, make_rows(1000, step, 1), 1);
  EXPECT_EQ(kept(), (Steps{1, 3}));
  save(4, make_rows(1000), 1);
  EXPECT_EQ(kept(), Steps{4});
  save(5, make_rows(1000), 1);
  EXPECT_EQ(find_latest(directory_.path()).checkpoint->info().step, 5u);
}

TEST_F(IncrementalCheckpointsTest, AreNoneWithoutTheirBase) {
  save(1, make_rows(1000));
  const auto path = save(2, make_rows(1000, 1, 1));
  const std::filesystem::path base = checkpoint_path(directory_.path(), 1);
  IncrementalCheckpoints other{1};
  const std::vector<float> rows = make_rows(1000, 9, 1);
  const std::vector<NamedTensor> tensors{{"table", DType::f32, {1000, 4}, std::as_bytes(std::span(rows))}};
  other.save(directory_.path(), {1, 0, "tiny", "", {}}, tensors, 0, {});
  EXPECT_NE(get_error([&] { load_checkpoint(path); }).find("which is another one by now"), std::string::npos);
  std::filesystem::remove(base);
  EXPECT_NE(get_error([&] { load_checkpoint(path); }).find("changes since ckpt-1.safetensors, which is not there"),
            std::string::npos);
  const LatestCheckpoint latest = find_latest(directory_.path());
  EXPECT_FALSE(latest.checkpoint);
  EXPECT_EQ(latest.warnings.size(), 1u);
}

TEST_F(IncrementalCheckpointsTest, ArePassedOverWhereTheirBaseHoldsChangesItself) {
  save(1, make_rows(1000));
  const auto changes = save(3, make_rows(1000, 1, 1));
  std::filesystem::copy_file(changes, checkpoint_path(directory_.path(), 2));  // whose base is 1
  std::filesystem::remove(checkpoint_path(directory_.path(), 1));
  std::filesystem::copy_file(changes, checkpoint_path(directory_.path(), 1));  // is now itself
  EXPECT_NE(get_error([&] { load_checkpoint(changes); }).find("ckpt-1.safetensors is not whole itself"),
            std::string::npos);
  EXPECT_FALSE(find_latest(directory_.path()).checkpoint);
}

/// Their checksums are right, as of a file that another program wrote.
TEST_F(IncrementalCheckpointsTest, ArePassedOverWhereChangesDoNotFit) {
  save(1, make_rows(1000));
  const Checkpoint whole = load_checkpoint(save(2, make_rows(1000, 1, 1)));
  CheckpointInfo info = whole.info();
  std::vector<NamedTensor> tensors(whole.tensors().begin(), whole.tensors().end());
  std::erase_if(tensors, [](const NamedTensor& tensor) { return tensor.name.ends_with(changed::shape); });
  info.step = 3;
  save_checkpoint(directory_.path(), info, tensors, 0);
  const LatestCheckpoint latest = find_latest(directory_.path());
  EXPECT_EQ(latest.checkpoint.value().info().step, 2u);
  ASSERT_EQ(latest.warnings.size(), 1u);
  EXPECT_NE(latest.warnings[0].find("ckpt-3.safetensors: corrupt checkpoint: no changes of \"table\"; passed over"),
            std::string::npos)
      << latest.warnings[0];
}

/// As Checkpoints::update_last writes one anew.
TEST_F(IncrementalCheckpointsTest, KnowABaseByItsTensorsAlone) {
  save(1, make_rows(1000));
  CheckpointInfo info = load_checkpoint(checkpoint_path(directory_.path(), 1)).info();
  info.state["best"] = 1;
  save_checkpoint(directory_.path(), info, load_checkpoint(checkpoint_path(directory_.path(), 1)).tensors(), 0);
  EXPECT_EQ(read_rows(load_checkpoint(save(2, make_rows(1000, 1, 1)))), make_rows(1000, 1, 1));
}

}  // namespace
}  // namespace ptrain
