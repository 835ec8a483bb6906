// Random access to bytes of a file or in memory.
#pragma once

#include "core/io/file_identity.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace ptrain {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` with the bytes from `offset` on. Throws Error naming the source where it ends early.
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  std::uint64_t size() const { return size_; }
  /// Begins every error message.
  const std::string& name() const { return name_; }

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  /// Returns the number of bytes that it filled; fewer than requested at the end.
  virtual std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;

  std::string name_;
  std::uint64_t size_ = 0;
};

class FileBytes : public ByteSource {
 public:
  /// Throws Error naming the file when it cannot be opened or is not a regular file.
  explicit FileBytes(const std::filesystem::path& path);
  ~FileBytes() override;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  FileIdentity identity() const { return identify_file(descriptor_); }
  /// Throws ChangedFile unless the file has this identity.
  void require(const FileIdentity& identity) const;

 private:
  std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  int descriptor_;
};

/// The bytes must outlive it.
class MemoryBytes : public ByteSource {
 public:
  MemoryBytes(std::span<const std::uint8_t> bytes, std::string name);

 private:
  std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> out) const override;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace ptrain
