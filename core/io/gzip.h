// Unpacks what gzip compressed.
#pragma once

#include "core/io/unpacker.h"

#include <zlib.h>

#include <string>

namespace ptrain {

/// Whether a file's bytes start as gzip's do.
bool is_gzip(std::span<const std::byte> bytes);

/// All members, as of files that were joined; zeros may follow them.
class GzipReader final : public Unpacker {
 public:
  GzipReader(std::span<const std::byte> bytes, std::string name);
  ~GzipReader() override;

  std::size_t read(std::span<std::byte> out) override;

 private:
  bool begin_next_member();

  std::span<const std::byte> rest_;  // what zlib has not taken yet
  std::string name_;
  bool ended_ = false;
  z_stream stream_{};
};

}  // namespace ptrain
