// Parallel loops over the calling thread's own cores (OpenMP, the runtime that oneDNN uses too).
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace ptrain {

/// Number of threads of a parallel loop started from this thread.
inline int thread_count() { return omp_get_max_threads(); }
/// Sets thread_count() for the calling thread; ranks that share a machine get a part of the cores each. Returns what
/// OpenMP grants, which OMP_THREAD_LIMIT or a process limit may keep below `threads`; thread_count() then is that
/// number. oneDNN splits its work over thread_count() threads and computes wrongly with fewer.
int set_thread_count(int threads);

/// Limits thread_count() of the calling thread to the CPU quota of control groups divided by `processes`: with more
/// threads a loop would wait for throttled ones.
void keep_to_cpu_quota(int processes = 1);

/// Calls body(begin, end) on one contiguous part of [0, count) per thread; stays on this thread when a part would be
/// smaller than `grain`. The split depends on the thread count only, so results do not vary between runs.
template <typename Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  const std::int64_t parts =
      std::min<std::int64_t>(thread_count(), std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, grain)));
  if (parts <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  // Always the whole team, some of it idle: libgomp ends the threads beyond a smaller team and restarts them for the
  // next. The runtime may grant fewer threads than requested (nested regions, OMP_THREAD_LIMIT): each then takes more
  // parts.
#pragma omp parallel
  {
    for (std::int64_t part = omp_get_thread_num(); part < parts; part += omp_get_num_threads()) {
      const std::int64_t begin = count * part / parts;
      const std::int64_t end = count * (part + 1) / parts;
      if (begin < end) body(begin, end);
    }
  }
}

}  // namespace ptrain
