// Checkpoints that hold only what has changed of large tensors since an earlier, whole one: their base. Which blocks of
// 512 bytes have is told by hashes, of which there are 8 bytes a block, so that saving reads memory and no file.
#pragma once

#include "core/io/checkpoint.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// Names of what a checkpoint has of a tensor in its place.
namespace changed {
inline constexpr std::size_t block_bytes = 512;
inline constexpr const char* shape = ".changed_shape";    // i64 [rank], the tensor's
inline constexpr const char* blocks = ".changed_blocks";  // i64 [n], their numbers, ascending
inline constexpr const char* bytes = ".changed_bytes";    // u8, these blocks; a tensor's last may be shorter
}  // namespace changed

class IncrementalCheckpoints {
 public:
  /// Every `whole_every`-th checkpoint, the first included, is whole; 1: all are.
  explicit IncrementalCheckpoints(std::int64_t whole_every) : whole_every_(whole_every) {}

  /// As save_checkpoint. Of tensors of which `may_change_little` is true, a checkpoint with a base has the changed
  /// blocks, or all, where those are a quarter or more.
  std::filesystem::path save(const std::filesystem::path& directory, CheckpointInfo info,
                             std::span<const NamedTensor> tensors, int keep,
                             const std::function<bool(std::string_view name)>& may_change_little);

 private:
  using Hashes = std::vector<std::uint64_t>;  // of blocks
  struct Changes {
    std::vector<NamedTensor> tensors;
    std::vector<std::vector<std::int64_t>> numbers;
    std::vector<std::vector<std::byte>> bytes;
  };

  void add(const NamedTensor& tensor, const Hashes& before, Changes& to) const;

  std::int64_t whole_every_;
  std::int64_t since_ = 0;  // checkpoints since the base
  std::optional<BaseCheckpoint> base_;
  std::map<std::string, Hashes, std::less<>> hashes_;  // by tensor of the base
};

}  // namespace ptrain
