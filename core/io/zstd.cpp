#include "core/io/zstd.h"

#include "core/base/errors.h"

#include <zstd.h>

#include <cstdint>
#include <utility>

namespace ptrain {

bool is_zstd(std::span<const std::byte> bytes) {
  if (bytes.size() < 4) return false;
  std::uint32_t start = 0;
  for (std::size_t i = 0; i < 4; ++i) start |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return start == ZSTD_MAGICNUMBER || (start & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

void ZstdReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

ZstdReader::ZstdReader(std::span<const std::byte> bytes, std::string name)
    : rest_(bytes), name_(std::move(name)), context_(ZSTD_createDCtx()) {
  if (!context_) fail("{}: no memory to unpack it", name_);
}

std::size_t ZstdReader::read(std::span<std::byte> out) {
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  while (to.pos < to.size && (within_frame_ || !rest_.empty())) {
    if (!within_frame_ && !is_zstd(rest_)) {
      fail("{}: has {} bytes of something else after its compressed data", name_, rest_.size());
    }
    const std::size_t before = to.pos;
    ZSTD_inBuffer from{rest_.data(), rest_.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context_.get(), &to, &from);
    if (ZSTD_isError(status) != 0) fail("{}: its compressed data are damaged ({})", name_, ZSTD_getErrorName(status));
    rest_ = rest_.subspan(from.pos);
    within_frame_ = status != 0;
    if (within_frame_ && from.pos == 0 && to.pos == before) fail("{}: its compressed data are cut off", name_);
  }
  return to.pos;
}

}  // namespace ptrain
