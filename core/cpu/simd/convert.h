// Conversion between element types, and elementwise loops that compute in f32.
#pragma once

#include "core/base/dtype.h"
#include "core/base/parallel.h"
#include "core/cpu/simd/vector.h"

#include <utility>

namespace ptrain::cpu {

/// Elements that fit a stack buffer and the first-level cache, for loops that compute in f32 between conversions.
inline constexpr std::int64_t run_length = 512;

/// buffers[0][i] = function(buffers[0][i], buffers[1][i]...).
template <std::size_t n, typename Function, std::size_t... index>
PTRAIN_INLINE void map_floats(float (&buffers)[n][run_length], std::int64_t count, Function& function,
                              std::index_sequence<index...>) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) buffers[0][i] = function(buffers[index][i]...);
}

/// to[i] = from[i], rounded; one thread.
template <typename From, typename To>
void convert_run(const From* from, To* to, std::int64_t count) {
  for_channels(count, [&](std::int64_t i, auto access) { access.store(to + i, access.load(from + i)); });
}

/// y[i] = function(a[i], b[i]...) in f32, for i in [begin, end); one thread.
template <typename Y, typename Function, typename... X>
void map_run(std::int64_t begin, std::int64_t end, Y* y, Function&& function, const X*... inputs) {
  float buffers[sizeof...(X)][run_length];
  for (std::int64_t first = begin; first < end; first += run_length) {
    const std::int64_t count = std::min(run_length, end - first);
    std::size_t next = 0;
    (convert_run(inputs + first, buffers[next++], count), ...);
    map_floats(buffers, count, function, std::index_sequence_for<X...>{});
    convert_run(buffers[0], y + first, count);
  }
}

/// The same on all threads, for dtypes known at run time.
void convert(DType from_dtype, const void* from, DType to_dtype, void* to, std::int64_t count);

}  // namespace ptrain::cpu
