// Whole files in and out: read at once, or written so that a reader sees the old file or the new one, never half.
#pragma once

#include "core/base/errors.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace ptrain {

/// Whether a file's content must outlast a crash of the machine; a crash of the process it outlasts either way.
enum class Flush { no, yes };

/// Writes a temporary file beside `path`; commit() flushes it to disk, which can take seconds, and renames it over
/// `path`. Without a commit (an exception, say) the temporary file is removed and `path` is as it was. Something that
/// is no regular file
/// (/dev/stdout, a pipe) is written to directly. Every failure throws Error{failed} naming `path` and the cause.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit(Flush flush = Flush::yes);

 private:
  [[noreturn]] void fail_with(int error) const;
  void discard();

  std::filesystem::path path_;       // as the user wrote it, for messages
  std::filesystem::path target_;     // with symbolic links resolved, so that a link stays a link
  std::filesystem::path temporary_;  // empty when writing directly
  int descriptor_ = -1;
};

/// AtomicFile for content that is at hand.
void write_file_atomic(const std::filesystem::path& path, std::string_view content, Flush flush = Flush::yes);

/// The folder and those above it, unless they are there. Throws Error{failed}.
void make_folder(const std::filesystem::path& folder);

/// A file that is there and cannot be read now: what it holds is not known. Its code is ExitCode::failed.
class UnreadableFile : public Error {
 public:
  UnreadableFile(const std::filesystem::path& path, std::string_view why)
      : Error(ExitCode::failed, fmt::format("cannot read {}: {}", path.string(), why)) {}
};

struct OpenFile {
  int descriptor = -1;
  std::size_t bytes = 0;
};
/// A regular file, open for reading. Throws UnreadableFile when it cannot be opened or is something else; a FIFO is
/// never waited for.
OpenFile open_for_reading(const std::filesystem::path& path);

/// The whole file. Throws Error{failed} when it cannot be opened or read.
std::string read_file(const std::filesystem::path& path);

/// CRC-32 (IEEE 802.3, zlib's) of `bytes`, continuing from the value of what went before.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// `text` in double quotes with control characters escaped: a name from a foreign file stays on one line of a message.
std::string quoted_name(std::string_view text);

}  // namespace ptrain
