// Reads the first format of checkpoints, which is no longer written. Layout, little-endian: "PTRAINCK", u64 header
// length, u32 CRC-32 of the header, u32 zero, the JSON header, then each tensor at a multiple of 64 bytes, then one
// CRC-32 per tensor (padding included) and one over these.
#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/checkpoint_format.h"

#include <array>
#include <bit>
#include <cstring>

namespace ptrain {
namespace {

using nlohmann::json;
using Bytes = std::span<const std::byte>;
static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian");

constexpr std::string_view magic_bytes = "PTRAINCK";
constexpr std::string_view schema_v1 = "ptrain.checkpoint/1";
constexpr std::size_t alignment = 64;

struct Preamble {
  std::array<char, 8> magic;
  std::uint64_t header_length;
  std::uint32_t header_crc;
  std::uint32_t zero;
};
static_assert(sizeof(Preamble) == 24);

std::size_t padding_after(std::size_t size) { return (alignment - size % alignment) % alignment; }

/// Reads fields from the front of `rest`; throws when the file ends early.
class Cursor {
 public:
  Cursor(Bytes bytes, std::string_view file) : rest_(bytes), file_(file) {}

  Bytes take(std::uint64_t size, std::string_view what) {
    if (size > rest_.size())
      fail("{}: truncated checkpoint: {} needs {} bytes, {} are left", file_, what, size, rest_.size());
    const Bytes taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  template <typename T>
  T take(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::size_t left() const { return rest_.size(); }

 private:
  Bytes rest_;
  std::string_view file_;
};

/// Reads a header with a valid checksum: mismatches then mean another version.
void read_header(const json& header, ParsedCheckpoint& parsed) {
  if (header.at("schema") != schema_v1) throw std::invalid_argument(fmt::format("schema is not {}", schema_v1));
  CheckpointInfo& info = parsed.info;
  header.at("step").get_to(info.step);
  header.at("epoch").get_to(info.epoch);
  header.at("model").get_to(info.model);
  header.at("config_hash").get_to(info.config_hash);
  info.state = header.at("state");
  for (const json& entry : header.at("tensors")) {
    NamedTensor tensor;
    entry.at("name").get_to(tensor.name);
    tensor.dtype = dtype_from_name(entry.at("dtype").get<std::string>());
    std::vector<std::int64_t> dims;
    std::int64_t bytes = static_cast<std::int64_t>(element_size(tensor.dtype));
    for (const json& dim : entry.at("shape")) {
      if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > (std::uint64_t{1} << 48) ||
          __builtin_mul_overflow(bytes, dim.get<std::int64_t>(), &bytes))
        throw std::invalid_argument("tensor shape out of range");
      dims.push_back(dim.get<std::int64_t>());
    }
    tensor.shape = Shape(std::move(dims));
    parsed.tensors.push_back(std::move(tensor));
  }
}

}  // namespace

bool is_checkpoint_v1(Bytes bytes) {
  return bytes.size() >= magic_bytes.size() && std::memcmp(bytes.data(), magic_bytes.data(), magic_bytes.size()) == 0;
}

ParsedCheckpoint parse_checkpoint_v1(Bytes bytes, std::string_view file) {
  Cursor cursor(bytes, file);
  const auto preamble = cursor.take<Preamble>("the preamble");
  const Bytes text = cursor.take(preamble.header_length, "the header");
  if (crc32(text) != preamble.header_crc || preamble.zero != 0) fail("{}: corrupt checkpoint: header checksum", file);

  ParsedCheckpoint parsed;
  try {
    const char* first = reinterpret_cast<const char*>(text.data());
    read_header(json::parse(first, first + text.size()), parsed);
  } catch (const std::exception& error) {
    fail("{}: a checkpoint that this version cannot read: {}", file, error.what());
  }

  std::vector<std::uint32_t> checksums;
  for (NamedTensor& tensor : parsed.tensors) {
    const std::size_t size = element_size(tensor.dtype) * static_cast<std::size_t>(tensor.shape.count());
    const Bytes padded = cursor.take(size + padding_after(size), "tensor " + quoted_name(tensor.name));
    tensor.bytes = padded.first(size);
    checksums.push_back(crc32(padded));
  }
  for (std::size_t i = 0; i < checksums.size(); ++i)
    if (cursor.take<std::uint32_t>("the checksums") != checksums[i])
      fail("{}: corrupt checkpoint: checksum of tensor {}", file, quoted_name(parsed.tensors[i].name));
  if (cursor.take<std::uint32_t>("the checksums") != crc32(std::as_bytes(std::span(checksums))))
    fail("{}: corrupt checkpoint: checksum of the checksums", file);
  if (cursor.left() != 0) fail("{}: corrupt checkpoint: {} bytes after its end", file, cursor.left());
  return parsed;
}

}  // namespace ptrain
