#include "core/io/packed_file.h"

#include "core/io/gzip.h"
#include "core/io/temporary_file.h"
#include "core/io/zstd.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> endings{".gz", ".zst", ".GZ", ".ZST"};

std::unique_ptr<Unpacker> make_unpacker(const fs::path& path, std::span<const std::byte> packed) {
  if (is_gzip(packed)) return std::make_unique<GzipReader>(packed, path.string());
  return std::make_unique<ZstdReader>(packed, path.string());
}

/// Calls `take` for what the bytes of a file hold, a piece at a time.
template <typename Take>
void unpack(const fs::path& path, std::span<const std::byte> packed, Take take) {
  const std::unique_ptr<Unpacker> unpacker = make_unpacker(path, packed);
  std::vector<std::byte> piece(1 << 20);
  while (const std::size_t got = unpacker->read(piece)) take(std::span<const std::byte>(piece).first(got));
}

}  // namespace

bool is_packed(std::span<const std::byte> bytes) { return is_gzip(bytes) || is_zstd(bytes); }

OpenFile unpack_to_temporary_file(const fs::path& path, std::span<const std::byte> packed) {
  TemporaryFile file(path.string() + ": cannot be unpacked");
  unpack(path, packed, [&](std::span<const std::byte> bytes) { file.append(bytes); });
  return file.release();
}

std::string read_unpacked_file(const fs::path& path, WebPages pages) {
  std::string content = read_file(path, pages);
  const auto packed = std::as_bytes(std::span(content.data(), content.size()));
  if (!is_packed(packed)) return content;
  std::string unpacked;
  unpack(path, packed, [&](std::span<const std::byte> bytes) {
    unpacked.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return unpacked;
}

fs::path find_packed(const fs::path& path) {
  if (fs::exists(path)) return path;
  for (const std::string_view ending : endings) {
    fs::path packed = path;
    packed += ending;
    if (fs::exists(packed)) return packed;
  }
  return path;
}

fs::path remove_packed_ending(const fs::path& path) {
  const bool is_ending = std::ranges::find(endings, path.extension().string()) != endings.end();
  return is_ending ? path.parent_path() / path.stem() : path;
}

}  // namespace ptrain
