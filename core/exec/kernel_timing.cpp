#include "core/exec/kernel_timing.h"

#include "core/base/errors.h"
#include "core/base/rng.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace ptrain {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Sample {
  double seconds;  // of one launch
  bool disturbed;
};

Sample take_sample(LapTimer& timer, const KernelLaunch& launch, int launches) {
  const std::int64_t before = timer.disturbances();
  timer.start();
  for (int i = 0; i < launches; ++i) launch();
  timer.lap();
  return {timer.seconds().back() / launches, timer.disturbances() != before};
}

class Candidate {
 public:
  explicit Candidate(const KernelLaunch& launch) : launch_(&launch) {}

  double best() const { return best_; }

  void warm_up(LapTimer& timer) {
    try {
      take_sample(timer, *launch_, 1);  // loads code and touches memory; not representative
    } catch (const Error&) {
      launch_ = nullptr;
    }
  }

  /// Keeps the device busy for `seconds` of its clock; false when the launch cannot run.
  bool keep_busy(LapTimer& timer, double seconds) const {
    for (double busy = 0; launch_ != nullptr && busy < seconds;) {
      busy += take_sample(timer, *launch_, most_launches).seconds;
    }
    return launch_ != nullptr;
  }

  /// Whether more samples are needed to compare it with a candidate that takes `to_beat` seconds.
  bool needs_sample(double to_beat) const { return launch_ != nullptr && !is_known(to_beat); }

  /// Takes a sample; returns whether it was disturbed.
  bool sample(LapTimer& timer) {
    const int launches = launches_of_sample();
    const auto [seconds, disturbed] = take_sample(timer, *launch_, launches);
    ++samples_;
    if (!disturbed) ++undisturbed_;
    spent_ += launches * seconds;
    second_ = std::min(second_, std::max(best_, seconds));
    best_ = std::min(best_, seconds);
    return disturbed;
  }

 private:
  static constexpr int most_launches = 8;

  bool is_known(double to_beat) const {
    constexpr int enough = 4;
    constexpr double agrees = 1.05, hopeless = 4;
    constexpr double long_seconds = 0.5, longest_doubt = 0.1;
    if (undisturbed_ >= 2 && best_ > hopeless * to_beat) return true;
    if (undisturbed_ >= enough && second_ <= agrees * best_) return true;
    return spent_ > (samples_ < enough ? long_seconds : longest_doubt);
  }

  /// Enough launches to make the clock's and the first launch's overhead small.
  int launches_of_sample() const {
    constexpr double long_enough = 200e-6;
    return best_ == never ? 1 : static_cast<int>(std::clamp(std::ceil(long_enough / best_), 1.0, 1.0 * most_launches));
  }

  const KernelLaunch* launch_;            // null: it cannot run
  double best_ = never, second_ = never;  // of all samples
  int samples_ = 0, undisturbed_ = 0;
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
  constexpr int most_rounds = 32;
  constexpr std::chrono::milliseconds rest{5};
  std::vector<Candidate> candidates(launches.begin(), launches.end());
  for (Candidate& candidate : candidates) candidate.warm_up(timer);
  const double seconds_to_warm = timer.warm_up_seconds();
  std::any_of(candidates.begin(), candidates.end(),
              [&](const Candidate& candidate) { return candidate.keep_busy(timer, seconds_to_warm); });
  for (int round = 0; round < most_rounds; ++round) {
    const double to_beat = find_best(candidates);
    bool disturbed = false, done = true;
    for (Candidate& candidate : candidates) {
      if (!candidate.needs_sample(to_beat)) continue;
      disturbed |= candidate.sample(timer);
      done = false;
    }
    if (done) break;
    if (disturbed) std::this_thread::sleep_for(rest);  // who rested runs a while undisturbed
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
