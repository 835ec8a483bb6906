// AMX tile registers: the permission to use them, and their shapes.
#pragma once

#ifdef __AMX_TILE__

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace ptrain::cpu {

/// Requests the tile registers from the kernel (required since Linux 5.16); whether this process may use them.
inline bool request_amx() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  static const bool granted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return granted;
}

/// The operand of _tile_loadconfig. Let it be static: GCC 12 believes that only its first bytes are read.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> bytes_per_row{};
  std::array<std::uint8_t, 16> rows{};
};

}  // namespace ptrain::cpu

#endif  // __AMX_TILE__
