#include "core/train/measure/sensor_watch.h"

#include "core/base/threads.h"

#include <algorithm>

namespace ptrain {
namespace {

/// Over the samples that have the value.
std::optional<RangeReport> summarize_range(const std::vector<SensorSample>& samples,
                                           std::optional<double> SensorSample::*value) {
  RangeReport range;
  double sum = 0, count = 0;
  for (const SensorSample& sample : samples) {
    if (!(sample.*value)) continue;
    const double seen = *(sample.*value);
    range.min = count == 0 ? seen : std::min(range.min, seen);
    range.max = count == 0 ? seen : std::max(range.max, seen);
    sum += seen;
    ++count;
  }
  if (count == 0) return std::nullopt;
  range.mean = sum / count;
  return range;
}

/// From the device's own counter, else from mean power and time.
std::optional<double> estimate_energy(const std::vector<SensorSample>& samples, const std::optional<RangeReport>& watts,
                                      double seconds) {
  if (samples.front().joules && samples.back().joules) return *samples.back().joules - *samples.front().joules;
  if (watts) return watts->mean * seconds;
  return std::nullopt;
}

}  // namespace

void SensorWatch::start() {
  end();
  samples_.assign(1, sensors_->sample());
  started_ = std::chrono::steady_clock::now();
  stopping_ = false;
  thread_ = start_thread([this] { watch(); });
}

void SensorWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval_, [this] { return stopping_; })) samples_.push_back(sensors_->sample());
}

void SensorWatch::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::optional<GpuReport> SensorWatch::stop() {
  if (!thread_.joinable()) return std::nullopt;
  end();
  samples_.push_back(sensors_->sample());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  GpuReport report;
  report.samples = static_cast<std::int64_t>(samples_.size());
  report.power_watts = summarize_range(samples_, &SensorSample::watts);
  report.sm_clock_mhz = summarize_range(samples_, &SensorSample::sm_mhz);
  report.memory_clock_mhz = summarize_range(samples_, &SensorSample::memory_mhz);
  report.temperature_celsius = summarize_range(samples_, &SensorSample::celsius);
  report.energy_joules = estimate_energy(samples_, report.power_watts, seconds);
  for (const auto& [name, bit] : sensors_->throttle_reasons()) {
    const auto count = std::count_if(samples_.begin(), samples_.end(), [bit = bit](const SensorSample& sample) {
      return (sample.throttle_reasons & bit) != 0;
    });
    report.throttled[std::string(name)] = static_cast<double>(count) / static_cast<double>(samples_.size());
  }
  return report;
}

}  // namespace ptrain
