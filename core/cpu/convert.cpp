#include "core/cpu/convert.h"

#include <cstring>

namespace ptrain::cpu {
namespace {

constexpr int lanes = 16;

/// The factors of one aligned group of 128 elements.
void group_factors(const DropoutMask& mask, std::uint64_t group, float* factors) {
  std::uint32_t words[4][lanes];
#pragma omp simd
  for (int lane = 0; lane < lanes; ++lane) {
    const Philox4 four = mask.random.block(group * lanes + static_cast<std::uint64_t>(lane));
    words[0][lane] = four.x;
    words[1][lane] = four.y;
    words[2][lane] = four.z;
    words[3][lane] = four.w;
  }
  for (int half = 0; half < 2; ++half) {
    for (int word = 0; word < 4; ++word) {
      float* out = factors + (half * 4 + word) * lanes;
      for (int lane = 0; lane < lanes; ++lane) {
        out[lane] = ((words[word][lane] >> (16 * half)) & 0xffffu) >= mask.threshold ? mask.scale : 0.0f;
      }
    }
  }
}

}  // namespace

void convert(DType from_dtype, const void* from, DType to_dtype, void* to, std::int64_t count) {
  constexpr std::int64_t grain = 1 << 14;
  if (from_dtype == to_dtype) {
    const auto size = static_cast<std::int64_t>(size_of(from_dtype));
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

void dropout_factors(const DropoutMask& mask, std::uint64_t first, std::int64_t count, float* factors) {
  constexpr auto group_size = static_cast<std::int64_t>(DropoutMask::group);
  float buffer[DropoutMask::group];
  std::int64_t done = 0;
  while (done < count) {
    const std::uint64_t element = first + static_cast<std::uint64_t>(done);
    const auto skip = static_cast<std::int64_t>(element % DropoutMask::group);
    const std::int64_t part = std::min(group_size - skip, count - done);
    if (part == group_size) {
      group_factors(mask, element / DropoutMask::group, factors + done);
    } else {
      group_factors(mask, element / DropoutMask::group, buffer);
      std::memcpy(factors + done, buffer + skip, static_cast<std::size_t>(part) * sizeof(float));
    }
    done += part;
  }
}

}  // namespace ptrain::cpu
