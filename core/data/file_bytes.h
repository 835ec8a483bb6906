// Reads a file, plain or gzip, without letting its header make it allocate more than the file can hold.
#pragma once

#include "core/io/gzip.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ptrain {

/// Replaces `bytes` with the file's contents. Throws Error naming the file and the system's reason, or what it is
/// in place of the file that is meant (refuse_stand_in).
void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& bytes);

/// Reads a plain or gzip-compressed byte string front to back. The bytes must outlive the reader.
class ByteReader {
 public:
  /// `name` begins every error message.
  ByteReader(std::span<const std::uint8_t> bytes, std::string name);

  /// Fills `out`; throws Error when the data ends before (truncated) or is corrupt.
  void read(std::span<std::uint8_t> out);
  /// The next four bytes; throws Error as read() does.
  std::uint32_t read_big_endian_u32();
  /// Throws Error unless everything was read; verifies gzip's checksum.
  void expect_end();
  /// Upper limit of the remaining bytes, whatever a header claims (deflate's ratio is at most 1032).
  std::uint64_t most_bytes_possible() const;
  const std::string& name() const { return name_; }

 private:
  std::size_t read_some(std::span<std::uint8_t> out);

  std::span<const std::uint8_t> bytes_;
  std::string name_;
  std::size_t position_ = 0;  // plain input only
  std::optional<GzipReader> gzip_;
};

}  // namespace ptrain
