// Monitors a device's power, clocks, temperature and throttling while steps are measured.
#pragma once

#include "core/exec/sensors.h"
#include "core/report/report.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ptrain {

/// Samples a device's sensors in a separate thread between start() and stop().
class SensorWatch {
 public:
  explicit SensorWatch(std::unique_ptr<Sensors> sensors,
                       std::chrono::milliseconds interval = std::chrono::milliseconds(100))
      : sensors_(std::move(sensors)), interval_(interval) {}
  ~SensorWatch() { end(); }

  /// Discards earlier samples and starts.
  void start();
  /// Summary of the samples since start(); absent if it was never started.
  std::optional<GpuReport> stop();

 private:
  void watch();
  void end();

  std::unique_ptr<Sensors> sensors_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
  std::vector<SensorSample> samples_;  // owned by the thread while it runs
  std::chrono::steady_clock::time_point started_;
};

}  // namespace ptrain
