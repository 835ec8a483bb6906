// Whole files: read at once, or written so that a reader sees either the old file or the new one, never a mixture.
#pragma once

#include "core/base/errors.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ptrain {

/// Whether a file must survive a crash of the machine; it survives a crash of the process in any case.
enum class Flush { no, yes };

/// Writes a temporary file next to `path`, and removes those that killed writers of the same file left; commit()
/// flushes it to disk, which can take seconds, and renames it to `path`. Without a commit (after an exception, say) the
/// temporary file is removed and `path` is unchanged. A path that is not a regular file
/// (/dev/stdout, a pipe) is written to directly. Every failure throws Error{failed} naming `path` and the cause.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)),
        target_(std::move(other.target_)),
        temporary_(std::exchange(other.temporary_, {})),
        descriptor_(std::exchange(other.descriptor_, -1)) {}

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Writes to disk what was written so far, so that commit() takes no time.
  void flush();
  void commit(Flush flush = Flush::yes);
  /// As the caller wrote it.
  const std::filesystem::path& path() const { return path_; }

 private:
  void open_temporary();
  [[noreturn]] void fail_with(int error) const;
  void discard();

  std::filesystem::path path_;       // as the user wrote it, for messages
  std::filesystem::path target_;     // with symbolic links resolved, so that a link stays a link
  std::filesystem::path temporary_;  // empty when writing directly
  int descriptor_ = -1;
};

/// Writes existing content through AtomicFile.
void write_file_atomic(const std::filesystem::path& path, std::string_view content, Flush flush = Flush::yes);

/// Creates the folder and its parents if they do not exist. Throws Error{failed}.
void make_folder(const std::filesystem::path& folder);

/// A file that exists but cannot be read now, so that its content is unknown. Its code is ExitCode::failed.
class UnreadableFile : public Error {
 public:
  UnreadableFile(const std::filesystem::path& path, std::string_view why)
      : Error(ExitCode::failed, fmt::format("cannot read {}: {}", path.string(), why)) {}
};

/// Whether web pages are read: as texts they may be meant.
enum class WebPages { refuse, read };

/// What `bytes`, the start of a file, are where they are not those of the file that is meant: a Git LFS pointer, which
/// Git leaves in place of a file that was not fetched, or an HTML page (or an error message in XML), which servers
/// answer in place of a file. Empty: something else.
std::string_view describe_stand_in(std::string_view bytes, WebPages pages = WebPages::refuse);
/// Throws UnreadableFile with that description if there is one.
void refuse_stand_in(const std::filesystem::path& path, std::string_view bytes, WebPages pages = WebPages::refuse);

struct OpenFile {
  int descriptor = -1;
  std::size_t bytes = 0;
};
/// A regular file, open for reading. Throws UnreadableFile when it cannot be opened or is something else, and as
/// refuse_stand_in() does; never waits for a FIFO.
OpenFile open_for_reading(const std::filesystem::path& path, WebPages pages = WebPages::refuse);
/// The same, as a stream.
std::ifstream open_stream(const std::filesystem::path& path);

/// The whole file. Throws as open_for_reading() does, and when it cannot be read.
std::string read_file(const std::filesystem::path& path, WebPages pages = WebPages::refuse);

/// CRC-32 (IEEE 802.3, zlib's) of `bytes`, continuing from the value `before`.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// `text` in double quotes with control characters escaped, so that a name from a foreign file stays on one line.
std::string quoted_name(std::string_view text);

}  // namespace ptrain
