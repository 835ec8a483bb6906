#include "tests/unit/data/shards/shard_writer.h"

#include "core/io/crc32c.h"

#include <fmt/format.h>

#include <span>

namespace ptrain {
namespace {

void put(std::string& header, std::size_t offset, std::string_view text) { header.replace(offset, text.size(), text); }

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string little_endian(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string checksum(std::string_view data) { return little_endian(masked_crc32c(get_bytes(data)), 4); }

}  // namespace

void sign_tar_header(std::string& header) {
  put(header, 148, "        ");
  unsigned sum = 0;
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<std::uint8_t>(header[i]);
  put(header, 148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
}

std::string tar_member(const std::string& path, std::string_view content, const TarOptions& options) {
  std::string header(512, '\0');
  put(header, 0, path.substr(0, 100));
  put(header, 100, "0000644");
  put(header, 124, fmt::format("{:011o}", content.size()));
  if (options.base_256) {
    put(header, 124, "\x80" + std::string(7, '\0'));
    for (int i = 0; i < 4; ++i)
      header[static_cast<std::size_t>(132 + i)] = static_cast<char>(content.size() >> (24 - 8 * i));
  }
  header[156] = options.type;
  put(header, 257,
      std::string("ustar\0"
                  "00",
                  8));
  put(header, 345, options.prefix);
  sign_tar_header(header);
  const std::size_t padding = (512 - content.size() % 512) % 512;
  return header + std::string(content) + std::string(padding, '\0');
}

std::string tar_end() { return std::string(1024, '\0'); }

std::string pax_header(const std::string& key, const std::string& value) {
  const std::string rest = fmt::format(" {}={}\n", key, value);
  std::size_t length = rest.size() + 1;
  while (length != rest.size() + std::to_string(length).size()) ++length;
  return tar_member("pax", std::to_string(length) + rest, {.type = 'x'});
}

std::string proto_bytes(int field, std::string_view value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + std::string(value);
}

std::string proto_integer(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}

std::string bytes_feature(std::string_view value) { return proto_bytes(1, proto_bytes(1, value)); }

std::string integer_feature(const std::vector<std::int64_t>& values, Packing packing) {
  std::string list;
  for (const std::int64_t value : values) {
    const auto bits = static_cast<std::uint64_t>(value);
    list += packing == Packing::packed ? varint(bits) : proto_integer(1, bits);
  }
  return proto_bytes(3, packing == Packing::packed ? proto_bytes(1, list) : list);
}

std::string make_example(const Features& features) {
  std::string map;
  for (const auto& [name, feature] : features) map += proto_bytes(1, proto_bytes(1, name) + proto_bytes(2, feature));
  return proto_bytes(1, map);
}

std::string make_sequence_example(const Features& context, const FeatureLists& lists) {
  std::string map;
  for (const auto& [name, features] : lists) {
    std::string list;
    for (const std::string& feature : features) list += proto_bytes(1, feature);
    map += proto_bytes(1, proto_bytes(1, name) + proto_bytes(2, list));
  }
  return make_example(context) + proto_bytes(2, map);
}

std::string tf_record(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  return length + checksum(length) + std::string(data) + checksum(data);
}

}  // namespace ptrain
