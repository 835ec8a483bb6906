#include "core/cpu/simd/convert.h"

#include <cstring>

namespace ptrain::cpu {
void convert(DType from_dtype, const void* from, DType to_dtype, void* to, std::int64_t count) {
  constexpr std::int64_t grain = 1 << 14;
  if (from_dtype == to_dtype) {
    const auto size = static_cast<std::int64_t>(element_size(from_dtype));
    parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(static_cast<char*>(to) + begin * size, static_cast<const char*>(from) + begin * size,
                  static_cast<std::size_t>((end - begin) * size));
    });
    return;
  }
  visit_floating(from_dtype, [&](auto from_zero) {
    visit_floating(to_dtype, [&](auto to_zero) {
      const auto* source = static_cast<const decltype(from_zero)*>(from);
      auto* target = static_cast<decltype(to_zero)*>(to);
      parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        convert_run(source + begin, target + begin, end - begin);
      });
    });
  });
}

}  // namespace ptrain::cpu
