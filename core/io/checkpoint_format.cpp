// The file format of a checkpoint: parse_checkpoint, load_checkpoint and save_checkpoint's writer.
#include "core/io/checkpoint_format.h"

#include "core/base/errors.h"
#include "core/io/safetensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace ptrain {
namespace {

using nlohmann::json;
using Bytes = std::span<const std::byte>;
using Checksums = std::vector<std::uint32_t>;

constexpr const char* schema_key = "schema";
constexpr std::string_view checkpoint_schema = "ptrain.checkpoint/2";
constexpr std::string_view checksums_name = "ptrain.checksums";
constexpr const char *base_step = "base_step", *base_checksum = "base_checksum";
constexpr std::size_t checksum_block = std::size_t{1} << 20;  // stays in cache between checksum and write

/// The last tensor of a file: one checksum for each tensor before it, one of the header, one of all these.
NamedTensor checksums_tensor(const Checksums& checksums) {
  const Bytes bytes = std::as_bytes(std::span(checksums));
  return {std::string(checksums_name), DType::u8, {static_cast<std::int64_t>(bytes.size())}, bytes};
}

std::uint32_t compute_file_checksum(const Checksums& checksums) {
  return crc32(std::as_bytes(std::span(checksums).first(checksums.size() - 1)));
}

/// Writes the bytes and returns their checksum.
std::uint32_t write_counted(AtomicFile& file, Bytes bytes) {
  std::uint32_t checksum = 0;
  while (!bytes.empty()) {
    const Bytes block = bytes.first(std::min(bytes.size(), checksum_block));
    checksum = crc32(block, checksum);
    file.write(block);
    bytes = bytes.subspan(block.size());
  }
  return checksum;
}

const std::string& find_text(const SafetensorsMetadata& metadata, const std::string& key, std::string_view file) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) fail("{}: a checkpoint that this version cannot read: no {}", file, quoted_name(key));
  return found->second;
}

template <typename Count = std::uint64_t>
Count find_count(const SafetensorsMetadata& metadata, const std::string& key, std::string_view file) {
  const std::string& text = find_text(metadata, key, file);
  Count count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size())
    fail("{}: a checkpoint that this version cannot read: {}: {}", file, key, quoted_name(text));
  return count;
}

CheckpointInfo parse_info(const SafetensorsMetadata& metadata, std::string_view file) {
  CheckpointInfo info;
  info.step = find_count(metadata, "step", file);
  info.epoch = find_count(metadata, "epoch", file);
  info.model = find_text(metadata, "model", file);
  info.config_hash = find_text(metadata, "config_hash", file);
  info.state = json::parse(find_text(metadata, "state", file), nullptr, false);
  if (info.state.is_discarded()) fail("{}: a checkpoint that this version cannot read: state is not JSON", file);
  if (metadata.contains(base_step)) {
    info.base = {find_count(metadata, base_step, file), find_count<std::uint32_t>(metadata, base_checksum, file)};
  }
  return info;
}

std::uint32_t compute_tensors_checksum(const NamedTensor& stored) {
  constexpr std::size_t others = 2 * sizeof(std::uint32_t);  // of the header, and of all
  return crc32(stored.bytes.first(stored.bytes.size() - std::min(stored.bytes.size(), others)));
}

/// Compares the checksums at the end of the file with those of `tensors` and of `header`.
void verify(const NamedTensor& stored, std::span<const NamedTensor> tensors, Bytes header, std::string_view file) {
  Checksums checksums(tensors.size() + 2);
  const Bytes expected = checksums_tensor(checksums).bytes;
  if (stored.dtype != DType::u8 || stored.bytes.size() != expected.size())
    fail("{}: corrupt checkpoint: {} checksums of {} tensors", file, stored.bytes.size() / 4, tensors.size());
  std::memcpy(checksums.data(), stored.bytes.data(), expected.size());
  if (compute_file_checksum(checksums) != checksums.back())
    fail("{}: corrupt checkpoint: checksum of the checksums", file);
  if (crc32(header) != checksums[tensors.size()]) fail("{}: corrupt checkpoint: header checksum", file);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (crc32(tensors[i].bytes) != checksums[i])
      fail("{}: corrupt checkpoint: checksum of tensor {}", file, quoted_name(tensors[i].name));
}

}  // namespace

void write_checkpoint(AtomicFile& file, const CheckpointInfo& info, std::span<const NamedTensor> tensors) {
  std::vector<NamedTensor> ordered = order_for_safetensors(tensors);
  Checksums checksums(ordered.size() + 2);
  ordered.push_back(checksums_tensor(checksums));
  SafetensorsMetadata metadata{{schema_key, std::string(checkpoint_schema)},
                               {"step", std::to_string(info.step)},
                               {"epoch", std::to_string(info.epoch)},
                               {"model", info.model},
                               {"config_hash", info.config_hash},
                               {"state", info.state.dump()}};
  if (info.base) {
    metadata[base_step] = std::to_string(info.base->step);
    metadata[base_checksum] = std::to_string(info.base->checksum);
  }
  const std::string header = encode_safetensors_header(ordered, metadata);
  checksums[tensors.size()] = write_counted(file, std::as_bytes(std::span(header)));
  for (std::size_t i = 0; i < tensors.size(); ++i) checksums[i] = write_counted(file, ordered[i].bytes);
  checksums.back() = compute_file_checksum(checksums);
  file.write(ordered.back().bytes);
}

bool is_of_checkpoint(const SafetensorsMetadata& metadata) {
  const auto schema = metadata.find(schema_key);
  return schema != metadata.end() && schema->second.starts_with("ptrain.checkpoint/");
}

ParsedCheckpoint parse_checkpoint(Bytes bytes, std::string_view file) {
  if (is_checkpoint_v1(bytes)) return parse_checkpoint_v1(bytes, file);
  SafetensorsIndex index = parse_safetensors(bytes, file);
  if (!is_of_checkpoint(index.metadata)) fail("{}: not a ptrain checkpoint", file);
  if (index.tensors.empty() || index.tensors.back().name != checksums_name)
    fail("{}: corrupt checkpoint: it does not end in its checksums", file);
  const NamedTensor stored = std::move(index.tensors.back());
  index.tensors.pop_back();
  const std::byte* data = index.tensors.empty() ? stored.bytes.data() : index.tensors.front().bytes.data();
  verify(stored, index.tensors, bytes.first(static_cast<std::size_t>(data - bytes.data())), file);
  if (index.metadata.at(schema_key) != checkpoint_schema)
    fail("{}: a checkpoint that this version cannot read: schema is not {}", file, checkpoint_schema);
  return {parse_info(index.metadata, file), std::move(index.tensors), compute_tensors_checksum(stored)};
}

Checkpoint Checkpoint::read(const std::filesystem::path& path) {
  Checkpoint checkpoint(path);
  ParsedCheckpoint parsed = parse_checkpoint(checkpoint.file_.bytes(), path.string());
  checkpoint.info_ = std::move(parsed.info);
  checkpoint.tensors_ = std::move(parsed.tensors);
  checkpoint.checksum_ = parsed.checksum;
  return checkpoint;
}

Checkpoint load_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint = Checkpoint::read(path);
  if (checkpoint.info_.base) checkpoint.load_base();
  return checkpoint;
}

void Checkpoint::load_base() {
  const std::filesystem::path path = checkpoint_path(path_.parent_path(), info_.base->step);
  const std::string part = fmt::format("{}: holds the changes since {}", path_.string(), path.filename().string());
  if (info_.base->step >= info_.step) fail("{}, which is not an earlier one", part);
  if (!std::filesystem::exists(path)) fail("{}, which is not there", part);
  try {
    base_ = std::make_unique<Checkpoint>(read(path));
  } catch (const UnreadableFile&) {
    throw;
  } catch (const Error& error) {
    fail("{}: {}", part, error.what());
  }
  if (base_->info_.base) fail("{}: {} is not whole itself", part, path.string());
  if (base_->checksum_ != info_.base->checksum) fail("{}, which is another one by now", part);
  check_changes();
}

void Checkpoint::check() const {
  file_.check();
  if (base_ != nullptr) base_->check();
}

std::optional<std::uint64_t> read_base_step(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  if (!file.metadata().contains(base_step)) return std::nullopt;
  return find_count(file.metadata(), base_step, path.string());
}

std::uint32_t read_tensors_checksum(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  const std::uint32_t checksum = compute_tensors_checksum(file.at(checksums_name));
  file.check();
  return checksum;
}

const NamedTensor* Checkpoint::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace ptrain
