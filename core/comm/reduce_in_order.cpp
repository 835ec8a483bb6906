#include "core/comm/reduce_in_order.h"

#include <algorithm>

namespace ptrain {
namespace {

constexpr std::int64_t run_length = 2048;  // floats of the running sum: in the first-level cache

template <typename T>
void reduce(std::span<const void* const> sources, std::span<void* const> destinations, std::int64_t count,
            float factor) {
  float sum[run_length];
  for (std::int64_t first = 0; first < count; first += run_length) {
    const std::int64_t part = std::min(run_length, count - first);
    const auto* source = static_cast<const T*>(sources[0]) + first;
    for (std::int64_t i = 0; i < part; ++i) sum[i] = static_cast<float>(source[i]);
    for (const void* other : sources.subspan(1)) {
      source = static_cast<const T*>(other) + first;
      for (std::int64_t i = 0; i < part; ++i) sum[i] += static_cast<float>(source[i]);
    }
    for (std::int64_t i = 0; i < part; ++i) sum[i] *= factor;
    for (void* to : destinations) {
      auto* destination = static_cast<T*>(to) + first;
      for (std::int64_t i = 0; i < part; ++i) destination[i] = T(sum[i]);
    }
  }
}

}  // namespace

void reduce_in_order(std::span<const void* const> sources, std::span<void* const> destinations, std::int64_t count,
                     DType dtype, float factor) {
  visit_floating(dtype, [&](auto zero) { reduce<decltype(zero)>(sources, destinations, count, factor); });
}

}  // namespace ptrain
