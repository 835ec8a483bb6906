// Unpacks what Zstandard compressed.
#pragma once

#include "core/io/unpacker.h"

#include <memory>
#include <string>

struct ZSTD_DCtx_s;

namespace ptrain {

/// Whether a file's bytes start as Zstandard's do.
bool is_zstd(std::span<const std::byte> bytes);

/// All frames, as of files that were joined. Damage is found for certain where a frame has a checksum, as the program
/// zstd makes them. Windows of more than 128 MiB, which `zstd --long` makes, are refused.
class ZstdReader final : public Unpacker {
 public:
  ZstdReader(std::span<const std::byte> bytes, std::string name);

  std::size_t read(std::span<std::byte> out) override;

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };

  std::span<const std::byte> rest_;  // what the library has not taken yet
  std::string name_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  bool within_frame_ = false;
};

}  // namespace ptrain
