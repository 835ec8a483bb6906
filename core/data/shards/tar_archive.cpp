#include "core/data/shards/tar_archive.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace ptrain {
namespace {

constexpr std::uint64_t block_bytes = 512;
constexpr std::uint64_t longest_names = 1 << 20;  // bytes of a long name or of a pax header

/// One header block and its offset.
class TarHeader {
 public:
  TarHeader(const ByteSource& archive, std::uint64_t position) : archive_(archive), position_(position) {
    if (archive.size() - position < block_bytes) {
      fail("{}: byte {}: the archive ends without its end mark (truncated file)", archive.name(), position);
    }
    archive.read(position, bytes_);
    is_end_ = std::all_of(bytes_.begin(), bytes_.end(), [](std::uint8_t byte) { return byte == 0; });
    if (!is_end_ && !has_checksum()) reject();
  }

  bool is_end() const { return is_end_; }
  char type() const { return static_cast<char>(bytes_[156]); }
  std::uint64_t size() const {
    const std::optional<std::uint64_t> size = number(124, 12);
    if (!size) fail("{}: byte {}: its size is not a number", archive_.name(), position_);
    return *size;
  }

  std::string path() const {
    const std::string_view name = text(0, 100);
    const bool is_posix = text(257, 6) == "ustar";  // GNU has "ustar ", and uses prefix's field for other data
    const std::string_view prefix = is_posix ? text(345, 155) : std::string_view{};
    return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
  }

 private:
  /// The text before the first zero byte.
  std::string_view text(std::size_t offset, std::size_t length) const {
    const std::string_view field(reinterpret_cast<const char*>(bytes_.data()) + offset, length);
    return field.substr(0, field.find('\0'));
  }

  /// Octal digits, or GNU's base 256, marked by the first bit; none for other bytes, and for numbers that are too
  /// large.
  std::optional<std::uint64_t> number(std::size_t offset, std::size_t length) const {
    std::uint64_t value = 0;
    if (bytes_[offset] == 0x80) {
      for (std::size_t i = 1; i < length; ++i) {
        if (value >> 56 != 0) return std::nullopt;
        value = value << 8 | bytes_[offset + i];
      }
      return value;
    }
    std::string_view digits = text(offset, length);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    digits = digits.substr(0, digits.find_last_not_of(' ') + 1);
    if (digits.empty()) return value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  }

  /// The sum of all bytes, with its own as spaces; some old programs sum signed bytes.
  bool has_checksum() const {
    std::int64_t sum = 0, signed_sum = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const std::uint8_t byte = i >= 148 && i < 156 ? ' ' : bytes_[i];
      sum += byte;
      signed_sum += static_cast<std::int8_t>(byte);
    }
    const std::optional<std::uint64_t> stated = number(148, 8);
    return stated && (*stated == static_cast<std::uint64_t>(sum) || *stated == static_cast<std::uint64_t>(signed_sum));
  }

  [[noreturn]] void reject() const {
    if (position_ == 0 && bytes_[0] == 0x1f && bytes_[1] == 0x8b) {
      fail("{}: is compressed, so its members cannot be read in place; expected a plain tar (gunzip makes it)",
           archive_.name());
    }
    fail("{}: byte {}: the checksum of a tar header is wrong (damaged, or not a tar)", archive_.name(), position_);
  }

  const ByteSource& archive_;
  std::uint64_t position_;
  std::array<std::uint8_t, block_bytes> bytes_{};
  bool is_end_ = false;
};

/// Attributes from the extension headers before a member's own.
struct Extension {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
};

std::string content(const ByteSource& archive, std::uint64_t offset, std::uint64_t size) {
  if (size > longest_names) fail("{}: byte {}: a name of {} bytes", archive.name(), offset, size);
  std::string text(size, '\0');
  archive.read(offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

/// Records of a pax header: "LENGTH KEY=VALUE\n", where LENGTH counts the whole record.
void read_pax(std::string_view records, const std::string& place, Extension& extension) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(end - records.data());
    if (error != std::errc() || length > records.size() || length < digits + 3 || *end != ' ' ||
        records[length - 1] != '\n') {
      fail("{}: a pax header's record is malformed", place);
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    records.remove_prefix(length);
    const std::size_t equals = std::min(record.find('='), record.size());
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(std::min(equals + 1, record.size()));
    if (key == "path") extension.path = value;
    if (key.starts_with("GNU.sparse.")) fail("{}: is a sparse file, which is not supported", place);
    if (key != "size") continue;
    std::uint64_t size = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), size);
    if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
      fail("{}: a pax header's size is not a number", place);
    }
    extension.size = size;
  }
}

}  // namespace

void read_tar(const ByteSource& archive, const std::function<void(const TarMember&)>& visit) {
  Extension extension;
  for (std::uint64_t position = 0;;) {
    const TarHeader header(archive, position);
    if (header.is_end()) {  // archives that were joined by cat continue after it
      position += block_bytes;
      if (archive.size() - position < block_bytes) return;
      extension = {};
      continue;
    }
    const char type = header.type();
    const bool is_extension = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    const bool has_no_content = type >= '1' && type <= '6';  // links, devices and directories, even if they have a size
    TarMember member{is_extension ? "" : extension.path.value_or(header.path()), position + block_bytes,
                     has_no_content ? 0 : header.size()};
    if (extension.size && !is_extension && !has_no_content) member.size = *extension.size;
    member.is_file = !is_extension && !has_no_content && !member.path.ends_with('/');  // old archives mark folders so
    const std::uint64_t left = archive.size() - member.offset;
    if (member.size > left) {
      fail("{}: byte {}: {} has {} bytes, but only {} are left (truncated file)", archive.name(), position,
           quoted_name(is_extension ? "a long name" : member.path), member.size, left);
    }
    const std::string place = fmt::format("{}: byte {}", archive.name(), position);
    if (type == 'L') {
      const std::string name = content(archive, member.offset, member.size);
      extension.path = name.substr(0, name.find('\0'));
    } else if (type == 'x') {
      read_pax(content(archive, member.offset, member.size), place, extension);
    } else if (type == 'S') {
      fail("{}: {} is a sparse file, which is not supported", place, quoted_name(member.path));
    } else if (!is_extension) {
      visit(member);
      extension = {};
    }
    const std::uint64_t padding = (block_bytes - member.size % block_bytes) % block_bytes;
    if (padding > left - member.size) {
      fail("{}: the archive ends within a member's last block (truncated file)", place);
    }
    position = member.offset + member.size + padding;
  }
}

}  // namespace ptrain
