#include "core/comm/bench.h"

#include "core/base/clock.h"

#include <algorithm>

namespace ptrain {

double bus_factor(int world_size) { return 2.0 * (world_size - 1) / world_size; }

AllReduceRate measure_all_reduce(Collectives& collectives, Backend& backend, std::int64_t bytes) {
  constexpr std::int64_t enough_bytes = std::int64_t{256} << 20;
  constexpr int warmup = 3;
  AllReduceRate rate;
  const std::int64_t count = std::max<std::int64_t>(1, bytes / static_cast<std::int64_t>(sizeof(float)));
  rate.bytes = count * static_cast<std::int64_t>(sizeof(float));
  // By size alone: every rank must choose the same number.
  rate.iterations = static_cast<int>(std::clamp<std::int64_t>(enough_bytes / rate.bytes, 8, 200));
  const DeviceBuffer data(backend.memory(), static_cast<std::size_t>(rate.bytes));
  Stopwatch watch;
  for (int i = 0; i < warmup + rate.iterations; ++i) {
    if (i == warmup) watch.restart();
    collectives.start_all_reduce(data.data(), count, DType::f32, 1.0f);
    collectives.wait_all_reduces();
    backend.stream().synchronize();
  }
  rate.seconds = watch.seconds() / rate.iterations;
  rate.algorithm_bandwidth = static_cast<double>(rate.bytes) / rate.seconds;
  rate.bus_bandwidth = rate.algorithm_bandwidth * bus_factor(collectives.world_size());
  return rate;
}

}  // namespace ptrain
