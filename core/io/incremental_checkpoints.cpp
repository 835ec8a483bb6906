#include "core/io/incremental_checkpoints.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/base/parallel.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptrain {
namespace {

using Bytes = std::span<const std::byte>;

/// Of the length too, so that a last block that becomes longer is another, whatever comes. Four hashes by turns, since
/// each waits for its multiplication.
std::uint64_t hash_block(Bytes block) {
  constexpr std::size_t lanes = 4;
  std::array<std::uint64_t, lanes> hashes{1, 2, 3, 4};
  std::array<std::uint64_t, lanes> words{};
  std::uint64_t all = block.size();
  for (; !block.empty(); block = block.subspan(std::min(block.size(), sizeof words))) {
    words = {};
    std::memcpy(words.data(), block.data(), std::min(block.size(), sizeof words));
    for (std::size_t i = 0; i < lanes; ++i) {
      hashes[i] = (hashes[i] ^ words[i]) * 0x9E3779B97F4A7C15u;
      hashes[i] ^= hashes[i] >> 32;
    }
  }
  for (const std::uint64_t hash : hashes) all = mixed64(all ^ hash);
  return all;
}

Bytes get_block(Bytes bytes, std::size_t number) {
  const Bytes rest = bytes.subspan(number * changed::block_bytes);
  return rest.first(std::min(rest.size(), changed::block_bytes));
}

std::vector<std::uint64_t> hash_blocks(Bytes bytes) {
  constexpr std::int64_t least = 4096;  // blocks a thread
  std::vector<std::uint64_t> hashes((bytes.size() + changed::block_bytes - 1) / changed::block_bytes);
  parallel_for(std::ssize(hashes), least, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      hashes[i] = hash_block(get_block(bytes, i));
    }
  });
  return hashes;
}

}  // namespace

std::filesystem::path IncrementalCheckpoints::save(
    const std::filesystem::path& directory, CheckpointInfo info, std::span<const NamedTensor> tensors, int keep,
    const std::function<bool(std::string_view name)>& may_change_little) {
  if (whole_every_ == 1) return save_checkpoint(directory, info, tensors, keep);
  if (base_ && since_ + 1 < whole_every_) {
    Changes changes;
    for (const NamedTensor& tensor : tensors) {
      const auto before = hashes_.find(tensor.name);
      if (before == hashes_.end()) {
        changes.tensors.push_back(tensor);
      } else {
        add(tensor, before->second, changes);
      }
    }
    info.base = base_;
    ++since_;
    return save_checkpoint(directory, info, changes.tensors, keep);
  }
  base_.reset();
  std::filesystem::path path = save_checkpoint(directory, info, tensors, keep);
  hashes_.clear();
  for (const NamedTensor& tensor : tensors) {
    if (may_change_little(tensor.name)) hashes_[tensor.name] = hash_blocks(tensor.bytes);
  }
  base_ = BaseCheckpoint{info.step, read_tensors_checksum(path)};
  since_ = 0;
  return path;
}

void IncrementalCheckpoints::add(const NamedTensor& tensor, const Hashes& before, Changes& to) const {
  constexpr std::size_t whole_from = 4;  // of so many blocks one
  const Hashes now = hash_blocks(tensor.bytes);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (i >= before.size() || now[i] != before[i]) numbers.push_back(static_cast<std::int64_t>(i));
  }
  if (numbers.size() * whole_from >= now.size()) return to.tensors.push_back(tensor);
  std::vector<std::byte> bytes;
  bytes.reserve(numbers.size() * changed::block_bytes);
  for (const std::int64_t number : numbers) {
    const Bytes block = get_block(tensor.bytes, static_cast<std::size_t>(number));
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  const auto add_integers = [&](const char* what, std::vector<std::int64_t> integers) {
    const auto& kept = to.numbers.emplace_back(std::move(integers));
    to.tensors.push_back(
        {tensor.name + what, DType::i64, {std::ssize(kept)}, std::as_bytes(std::span(kept.data(), kept.size()))});
  };
  add_integers(changed::shape, tensor.shape.dims());
  add_integers(changed::blocks, std::move(numbers));
  const auto& kept = to.bytes.emplace_back(std::move(bytes));
  to.tensors.push_back({tensor.name + changed::bytes, DType::u8, {std::ssize(kept)}, kept});
}

void Checkpoint::check_changes() const {
  for (const NamedTensor& tensor : tensors_) {
    if (!tensor.name.ends_with(changed::blocks)) continue;
    find_saved(std::string_view(tensor.name).substr(0, tensor.name.size() - std::strlen(changed::blocks)));
  }
}

std::optional<SavedTensor> Checkpoint::find_saved(std::string_view name) const {
  if (const NamedTensor* whole = find(name)) return SavedTensor{whole->dtype, whole->shape, whole->bytes};
  const NamedTensor* const before = base_ == nullptr ? nullptr : base_->find(name);
  if (before == nullptr) return std::nullopt;
  const auto find_part = [&](const char* what, DType dtype) {
    const NamedTensor* const part = find(std::string(name) + what);
    if (part == nullptr || part->dtype != dtype)
      fail("{}: corrupt checkpoint: no changes of {}", path_.string(), quoted_name(name));
    return part->bytes;
  };
  const auto read_integers = [&](const char* what) {
    const Bytes from = find_part(what, DType::i64);
    std::vector<std::int64_t> integers(from.size() / sizeof(std::int64_t));
    std::memcpy(integers.data(), from.data(), from.size());
    return integers;
  };
  const auto require = [&](bool fits) {
    if (!fits) fail("{}: corrupt checkpoint: changes of {}", path_.string(), quoted_name(name));
  };
  std::vector<std::int64_t> dims = read_integers(changed::shape), known = before->shape.dims();
  require(dims.size() == known.size() && !dims.empty() && dims.front() >= 0);
  // Of a tensor that has become longer, all of the new bytes are among the changed ones.
  const std::size_t row_bytes =
      element_size(before->dtype) *
      static_cast<std::size_t>(before->shape.count() / std::max<std::int64_t>(1, known.front()));
  const Bytes all = find_part(changed::bytes, DType::u8);
  require(row_bytes > 0 && static_cast<std::size_t>(dims.front()) <= (before->bytes.size() + all.size()) / row_bytes);
  const std::size_t bytes = static_cast<std::size_t>(dims.front()) * row_bytes;
  known.front() = dims.front();
  require(dims == known);
  SavedTensor saved{before->dtype, Shape(std::move(dims)), before->bytes.first(std::min(before->bytes.size(), bytes))};
  Bytes rest = all;
  for (const std::int64_t number : read_integers(changed::blocks)) {
    require(number >= 0 &&
            static_cast<std::size_t>(number) < (bytes + changed::block_bytes - 1) / changed::block_bytes);
    const std::size_t begin = static_cast<std::size_t>(number) * changed::block_bytes;
    const std::size_t size = std::min(changed::block_bytes, bytes - begin);
    require(size <= rest.size());
    saved.changed.push_back({begin, rest.first(size)});
    rest = rest.subspan(size);
  }
  require(rest.empty());
  return saved;
}

}  // namespace ptrain
