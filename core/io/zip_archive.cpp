#include "core/io/zip_archive.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ptrain {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view local_mark = "PK\x03\x04", entry_mark = "PK\x01\x02", end_mark = "PK\x05\x06",
                           end64_mark = "PK\x06\x06", locator64_mark = "PK\x06\x07";
constexpr std::size_t local_size = 30, entry_size = 46, end_size = 22, end64_size = 56, locator64_size = 20;
constexpr std::uint64_t in_extra = 0xffffffff;  // a 32-bit number whose 64-bit one is in the extra field

/// The records of an archive, read with checks.
class ZipReader {
 public:
  ZipReader(Bytes bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  ZipEntries read() {
    const auto [count, begin] = find_directory();
    ZipEntries entries;
    std::uint64_t at = begin;
    for (std::uint64_t i = 0; i < count; ++i) at = read_entry(at, entries);
    return entries;
  }

 private:
  struct Directory {
    std::uint64_t entries, begin;
  };

  [[noreturn]] void fail_damaged(std::string_view what) const {
    fail("{}: a zip archive that is truncated or damaged: {}", file_, what);
  }

  /// `size` bytes at `at`.
  Bytes take(std::uint64_t at, std::uint64_t size, std::string_view what) const {
    if (at > bytes_.size() || size > bytes_.size() - at) fail_damaged(what);
    return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }
  Bytes take_marked(std::uint64_t at, std::uint64_t size, std::string_view mark, std::string_view what) const {
    const Bytes record = take(at, size, what);
    if (std::memcmp(record.data(), mark.data(), mark.size()) != 0) fail_damaged(what);
    return record;
  }
  template <typename Number>
  static std::uint64_t number(Bytes record, std::size_t at) {
    Number value;
    std::memcpy(&value, record.data() + at, sizeof value);
    return value;
  }

  /// The last record that may be the end, before a comment of at most 64 KiB.
  std::uint64_t find_end() const {
    constexpr std::size_t longest_comment = 0xffff;
    const std::size_t tail = std::min(bytes_.size(), end_size + longest_comment);
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + bytes_.size() - tail, tail);
    const std::size_t found = tail < end_size ? text.npos : text.rfind(end_mark, tail - end_size);
    if (found == text.npos) fail_damaged("it has no list of entries at its end");
    return bytes_.size() - tail + found;
  }

  Directory find_directory() const {
    const std::uint64_t end = find_end();
    const Bytes record = take_marked(end, end_size, end_mark, "its end");
    const Directory directory{number<std::uint16_t>(record, 10), number<std::uint32_t>(record, 16)};
    if (directory.entries != 0xffff && directory.begin != in_extra) return directory;
    if (end < locator64_size) fail_damaged("its end");
    const Bytes locator = take_marked(end - locator64_size, locator64_size, locator64_mark, "its end of 64 bits");
    const Bytes end64 = take_marked(number<std::uint64_t>(locator, 8), end64_size, end64_mark, "its end of 64 bits");
    return {number<std::uint64_t>(end64, 32), number<std::uint64_t>(end64, 48)};
  }

  /// The 64-bit numbers among an entry's extra fields.
  static Bytes find_extra64(Bytes extra) {
    constexpr std::size_t header = 4;
    while (extra.size() >= header) {
      const std::uint64_t id = number<std::uint16_t>(extra, 0), size = number<std::uint16_t>(extra, 2);
      extra = extra.subspan(header);
      if (size > extra.size()) break;
      if (id == 1) return extra.first(static_cast<std::size_t>(size));
      extra = extra.subspan(static_cast<std::size_t>(size));
    }
    return {};
  }

  /// A CRC of 0 says that none was computed (torch.serialization.set_crc32_options), except where it is right.
  void check_content(Bytes content, std::uint64_t expected, const std::string& name) {
    checked_ += content.size();
    if (checked_ > bytes_.size()) fail_damaged("its entries overlap");
    if (expected == 0) return;
    const std::uint32_t found = crc32(content);
    if (found == expected) return;
    fail("{}: entry {} is damaged: its CRC-32 is {:08x}, the archive says {:08x}; fetch or copy the file again", file_,
         quoted_name(name), found, expected);
  }

  /// Reads the entry at `at`; returns where the next one is.
  std::uint64_t read_entry(std::uint64_t at, ZipEntries& entries) {
    const Bytes record = take_marked(at, entry_size, entry_mark, "its list of entries");
    const std::uint64_t name_size = number<std::uint16_t>(record, 28), extra_size = number<std::uint16_t>(record, 30);
    const Bytes name_bytes = take(at + entry_size, name_size, "an entry's name");
    const Bytes extra = take(at + entry_size + name_size, extra_size, "an entry's extra field");
    const std::string name(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    std::uint64_t size = number<std::uint32_t>(record, 24), stored = number<std::uint32_t>(record, 20),
                  begin = number<std::uint32_t>(record, 42);
    Bytes wide = find_extra64(extra);
    for (std::uint64_t* const value : {&size, &stored, &begin}) {
      if (*value != in_extra) continue;
      if (wide.size() < sizeof *value) fail_damaged("an entry's extra field");
      *value = number<std::uint64_t>(wide, 0);
      wide = wide.subspan(sizeof *value);
    }
    if (number<std::uint16_t>(record, 10) != 0 || size != stored) {
      fail("{}: entry {} is compressed: PyTorch stores entries as they are", file_, quoted_name(name));
    }
    const Bytes local = take_marked(begin, local_size, local_mark, "an entry");
    const std::uint64_t data = begin + local_size + number<std::uint16_t>(local, 26) + number<std::uint16_t>(local, 28);
    const Bytes content = take(data, size, "an entry's bytes");
    if (!entries.emplace(name, content).second) fail("{}: entry {} occurs twice", file_, quoted_name(name));
    check_content(content, number<std::uint32_t>(record, 16), name);
    return at + entry_size + name_size + extra_size + number<std::uint16_t>(record, 32);
  }

  Bytes bytes_;
  std::string_view file_;
  std::uint64_t checked_ = 0;  // bytes of the entries so far
};

}  // namespace

bool is_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= local_mark.size() && std::memcmp(bytes.data(), local_mark.data(), local_mark.size()) == 0;
}

ZipEntries parse_zip(std::span<const std::byte> bytes, std::string_view file) { return ZipReader(bytes, file).read(); }

}  // namespace ptrain
