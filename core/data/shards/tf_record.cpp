#include "core/data/shards/tf_record.h"

#include "core/data/shards/shard_files.h"
#include "core/io/crc32c.h"

#include <array>
#include <cctype>

namespace ptrain {
namespace {

constexpr std::uint64_t checksum_bytes = 4;
constexpr std::uint64_t header_bytes = 8 + checksum_bytes;  // length and its checksum
constexpr std::uint64_t longest_record = 1 << 30;           // bytes

std::uint64_t little_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// Whether the last bytes are the checksum of those before.
bool is_sound(std::span<const std::uint8_t> bytes) {
  return little_endian(bytes.last(checksum_bytes)) == masked_crc32c(bytes.first(bytes.size() - checksum_bytes));
}

/// Length of the record that begins at `position`, without its checksums.
std::uint64_t read_length(const ByteSource& shard, std::uint64_t position, const std::string& place) {
  if (shard.size() - position < header_bytes) fail("{}: ends within its length (truncated file)", place);
  std::array<std::uint8_t, header_bytes> header{};
  shard.read(position, header);
  if (!is_sound(header)) {
    if (position == 0 && header[0] == 0x1f && header[1] == 0x8b) {
      fail("{}: is compressed, so its records cannot be read in place; expected plain records (gunzip makes them)",
           shard.name());
    }
    fail("{}: the checksum of its length is wrong (damaged, or not a TFRecord file)", place);
  }
  const std::uint64_t length = little_endian(std::span(header).first(8));
  const std::uint64_t left = shard.size() - position - header_bytes;
  if (left < checksum_bytes || length > left - checksum_bytes) {
    fail("{}: has {} bytes, but only {} are left (truncated file)", place, length, left);
  }
  if (length > longest_record) fail("{}: has {} bytes, expected at most {}", place, length, longest_record);
  return length;
}

}  // namespace

bool is_tf_record(std::string_view name) {
  if (name.ends_with(".tfrecord") || name.ends_with(".tfrecords") || name.ends_with(".tfrec")) return true;
  return !name.empty() && shard_count(name) > 0 && std::isdigit(static_cast<unsigned char>(name.back())) != 0;
}

bool is_compressed_tf_record(std::string_view name) { return is_tf_record(without_compression(name)); }

void read_tf_records(const ByteSource& shard, const VisitTfRecord& visit) {
  std::int64_t number = 0;
  for (std::uint64_t position = 0; position < shard.size(); ++number) {
    const std::string place = fmt::format("{}: record {} at byte {}", shard.name(), number, position);
    const std::uint64_t length = read_length(shard, position, place);
    const std::uint64_t begin = position + header_bytes, end = begin + length + checksum_bytes;
    try {
      visit({position, end - position, {begin, begin + length}}, place);
    } catch (const Error&) {  // distinguishes damage from data of another kind
      std::vector<std::uint8_t> bytes(end - begin);
      shard.read(begin, bytes);
      if (!is_sound(bytes)) fail("{}: its checksum is wrong (damaged)", place);
      throw;
    }
    position = end;
  }
}

ByteRange find_tf_record_content(std::span<const std::uint8_t> bytes, const std::string& place) {
  if (bytes.size() < header_bytes + checksum_bytes || !is_sound(bytes.subspan(header_bytes))) {
    throw BadSample(fmt::format("{}: its checksum is wrong (damaged)", place));
  }
  return {header_bytes, bytes.size() - checksum_bytes};
}

ShardIndex index_tf_records(const ByteSource& shard) {
  ShardIndex index;
  read_tf_records(shard, [&](const TfRecord& record, const std::string& place) {
    ImageExample example = parse_image_example(shard, record.content, place);
    index.add({.name = std::move(example.file_name), .offset = record.offset, .length = record.length},
              {std::to_string(example.label), std::move(example.class_name)});
  });
  return index;
}

std::span<const std::uint8_t> image_in_tf_record(std::span<const std::uint8_t> bytes, const std::string& place) {
  const ByteRange content = find_tf_record_content(bytes, place);
  try {
    const ByteRange image = parse_image_example(MemoryBytes(bytes, place), content, place).image;
    return bytes.subspan(image.begin, image.size());
  } catch (const Error& error) {
    throw BadSample(error.what());
  }
}

const ShardForm tf_record_form{
    .source = "tfrecord",
    .pattern = "*.tfrecord",
    .is_shard = is_tf_record,
    .is_compressed_shard = is_compressed_tf_record,
    .index = index_tf_records,
    .image_in = image_in_tf_record,
};

}  // namespace ptrain
