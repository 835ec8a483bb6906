// Bytes that are read at places rather than from front to back: a file's, or those in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace ptrain {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills `out` with the bytes from `offset` on. Throws Error naming the source where it ends before.
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  std::uint64_t size() const { return size_; }
  /// Opens every error message.
  const std::string& name() const { return name_; }

 protected:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  /// Returns how many bytes it filled; fewer than asked for at the end.
  virtual std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> out) const = 0;

  std::string name_;
  std::uint64_t size_ = 0;
};

class FileBytes : public ByteSource {
 public:
  /// Throws Error naming the file when it cannot be opened or is no regular file.
  explicit FileBytes(const std::filesystem::path& path);
  ~FileBytes() override;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

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
