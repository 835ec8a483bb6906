#include "core/exec/kernel_timing.h"

#include "core/base/errors.h"
#include "core/base/rng.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// Seconds of one of `launches`.
double time_sample(LapTimer& timer, const KernelLaunch& launch, int launches) {
  timer.start();
  for (int i = 0; i < launches; ++i) launch();
  timer.lap();
  return timer.seconds().back() / launches;
}

class Candidate {
 public:
  explicit Candidate(const KernelLaunch& launch) : launch_(&launch) {}

  double best() const { return best_; }

  void warm_up(LapTimer& timer) {
    try {
      time_sample(timer, *launch_, 1);  // loads code and touches memory; not representative
    } catch (const Error&) {
      launch_ = nullptr;
    }
  }

  /// Keeps the device busy for `seconds` of its clock; false when the launch cannot run.
  bool keep_busy(LapTimer& timer, double seconds) const {
    for (double busy = 0; launch_ != nullptr && busy < seconds;) busy += time_sample(timer, *launch_, most_launches);
    return launch_ != nullptr;
  }

  void sample(LapTimer& timer, double to_beat) {
    constexpr double hopeless = 4;  // times the best; no longer sampled
    constexpr double enough_seconds = 0.5;
    if (launch_ == nullptr || best_ > hopeless * to_beat || spent_ > enough_seconds) return;
    const int launches = launches_of_sample();
    const double seconds = time_sample(timer, *launch_, launches);
    spent_ += launches * seconds;
    best_ = std::min(best_, seconds);
  }

 private:
  static constexpr int most_launches = 8;

  /// Enough launches to make the clock's and the first launch's overhead small.
  int launches_of_sample() const {
    constexpr double long_enough = 200e-6;
    return best_ == never ? 1 : static_cast<int>(std::clamp(std::ceil(long_enough / best_), 1.0, 1.0 * most_launches));
  }

  const KernelLaunch* launch_;  // null: it cannot run
  double best_ = never;
  double spent_ = 0;
};

double find_best(const std::vector<Candidate>& candidates) {
  double best = never;
  for (const Candidate& candidate : candidates) best = std::min(best, candidate.best());
  return best;
}

}  // namespace

std::vector<std::byte> benchmark_values(DType dtype) {
  constexpr std::size_t count = 1 << 16;
  std::vector<std::byte> bytes(count * element_size(dtype));
  if (!is_floating(dtype)) return bytes;
  const RandomStream random{1, 0, 0};
  visit_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* values = reinterpret_cast<T*>(bytes.data());
    for (std::size_t i = 0; i < count; ++i) values[i] = T(2.0f * random.uniform(i) - 1.0f);
  });
  return bytes;
}

void fill_for_benchmark(DeviceMemory& memory, void* tensor, const TensorDesc& desc) {
  if (!is_floating(desc.dtype)) return;  // memory is zeroed when allocated
  // A copy to a GPU takes microseconds however small it is.
  constexpr std::size_t largest_copy = std::size_t{8} << 20;
  const std::vector<std::byte> values = benchmark_values(desc.dtype);
  std::vector<std::byte> block = values;
  while (block.size() < std::min(desc.bytes(), largest_copy)) block.insert(block.end(), values.begin(), values.end());
  for (std::size_t at = 0; at < desc.bytes(); at += block.size()) {
    const std::size_t part = std::min(block.size(), desc.bytes() - at);
    memory.copy_to_device(static_cast<std::byte*>(tensor) + at, block.data(), part);
  }
}

std::vector<double> time_launches(LapTimer& timer, std::span<const KernelLaunch> launches) {
  constexpr int rounds = 4;
  std::vector<Candidate> candidates(launches.begin(), launches.end());
  for (Candidate& candidate : candidates) candidate.warm_up(timer);
  const double seconds_to_warm = timer.warm_up_seconds();
  std::any_of(candidates.begin(), candidates.end(),
              [&](const Candidate& candidate) { return candidate.keep_busy(timer, seconds_to_warm); });
  for (int round = 0; round < rounds; ++round) {
    const double to_beat = find_best(candidates);
    for (Candidate& candidate : candidates) candidate.sample(timer, to_beat);
  }
  std::vector<double> seconds;
  for (const Candidate& candidate : candidates) seconds.push_back(candidate.best());
  return seconds;
}

std::optional<std::size_t> find_fastest(LapTimer& timer, std::span<const KernelLaunch> candidates) {
  constexpr double worthwhile = 0.97;
  const std::vector<double> seconds = time_launches(timer, candidates);
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (seconds[i] < worthwhile * (fastest ? seconds[*fastest] : never)) fastest = i;
  }
  return fastest;
}

}  // namespace ptrain
