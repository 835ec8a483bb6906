// Training checkpoints: one file per step, written atomically, checksummed throughout, the last few kept.
//
// ckpt-<step>.safetensors is a safetensors file, so that other programs open it too. Its __metadata__ holds what
// CheckpointInfo does, `state` as JSON text, and its last tensor, ptrain.checksums, one CRC-32 (u32, little-endian) for
// each tensor before it in the file's order, one of all bytes before the tensors and one of these. Checkpoints of the
// first format, ckpt-<step>.ptrain, are still read. Some hold the changes since another one alone
// (incremental_checkpoints.h).
#pragma once

#include "core/io/mapped_file.h"
#include "core/io/named_tensor.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// A whole checkpoint of the same directory since which another one has the changes.
struct BaseCheckpoint {
  std::uint64_t step = 0;
  std::uint32_t checksum = 0;  // of its tensors
};

/// A checkpoint's metadata. The trainer compares `model` and `config_hash` with its own.
struct CheckpointInfo {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  std::string model;  // e.g. "resnet50 classes=10 image=28"
  std::string config_hash;
  nlohmann::json state = nlohmann::json::object();  // loss scaler, random numbers, loader position, metrics
  std::optional<BaseCheckpoint> base = {};
};

/// What a checkpoint has of a tensor: where it has changed since the base, the base's bytes and the blocks that have.
struct SavedTensor {
  struct Block {
    std::size_t begin;  // byte of the tensor
    std::span<const std::byte> bytes;
  };

  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // may be fewer than the tensor's
  std::vector<Block> changed = {};
};

/// A loaded checkpoint. The tensors point into the mapped file: copy them directly to their destination.
class Checkpoint {
 public:
  const std::filesystem::path& path() const { return path_; }
  const CheckpointInfo& info() const { return info_; }
  /// Those in the file.
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  /// nullptr when there is no tensor of that name.
  const NamedTensor* find(std::string_view name) const;
  /// Of the base too; none when neither has it. Throws Error{failed} where the changes do not fit.
  std::optional<SavedTensor> find_saved(std::string_view name) const;
  /// As MappedFile::check; call it after copying the tensors.
  void check() const;

 private:
  friend Checkpoint load_checkpoint(const std::filesystem::path& path);
  std::filesystem::path path_;
  MappedFile file_;
  CheckpointInfo info_;
  std::vector<NamedTensor> tensors_;
  std::uint32_t checksum_ = 0;        // of the tensors
  std::unique_ptr<Checkpoint> base_;  // null: all tensors are whole

  /// A checkpoint without its base.
  static Checkpoint read(const std::filesystem::path& path);
  void load_base();
  /// Throws where a tensor's changes do not fit the base.
  void check_changes() const;
  explicit Checkpoint(const std::filesystem::path& path) : path_(path), file_(path) {}
};

/// Writes <directory>/ckpt-<info.step>.safetensors (creating the directory if needed) directly from the tensors'
/// memory. Then removes all but the `keep` newest checkpoints up to this step (keep <= 0: removes none) and files of
/// interrupted saves. Checkpoints of later steps are never touched. Returns the path. Throws Error{failed} when the
/// file cannot be written; earlier checkpoints are then all still there. The bases of those that are kept stay, too.
std::filesystem::path save_checkpoint(const std::filesystem::path& directory, const CheckpointInfo& info,
                                      std::span<const NamedTensor> tensors, int keep);

/// Maps a checkpoint, and its base, and verifies every byte of it. Throws Error{failed}, one line naming the file, when
/// it is truncated, corrupt or not a checkpoint of this version, or when its base is not there or another.
Checkpoint load_checkpoint(const std::filesystem::path& path);

struct ParsedCheckpoint {
  CheckpointInfo info;
  std::vector<NamedTensor> tensors;
  std::uint32_t checksum = 0;  // of the tensors
};
/// Does what load_checkpoint does, for a file in memory; the tensors point into `bytes`, `file` names it in messages.
ParsedCheckpoint parse_checkpoint(std::span<const std::byte> bytes, std::string_view file);

struct LatestCheckpoint {
  std::optional<Checkpoint> checkpoint;  // none: the directory holds no valid one
  std::vector<std::string> warnings;     // one line for each newer checkpoint that was skipped, with the reason
};
/// The valid checkpoint of the highest step in `directory`. Throws UnreadableFile for one that cannot be read now.
LatestCheckpoint find_latest(const std::filesystem::path& directory);

/// Steps of all checkpoints in `directory`, ascending, valid or not. Empty when there is no such directory.
std::vector<std::uint64_t> list_checkpoints(const std::filesystem::path& directory);

/// Removes all checkpoints in `directory`.
void remove_checkpoints(const std::filesystem::path& directory);

/// The checksum of a checkpoint's tensors, by which others know it as their base.
std::uint32_t read_tensors_checksum(const std::filesystem::path& path);

/// <directory>/ckpt-<step>.safetensors
std::filesystem::path checkpoint_path(const std::filesystem::path& directory, std::uint64_t step);

}  // namespace ptrain
