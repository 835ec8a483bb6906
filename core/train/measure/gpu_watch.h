// A GPU's power, clocks, temperature and throttling while steps are measured.
#pragma once

#include "core/base/nvml.h"
#include "core/report/report.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace ptrain {

/// Looks at a GPU from a thread of its own between start() and stop().
class GpuWatch {
 public:
  explicit GpuWatch(std::unique_ptr<Nvml> gpu, std::chrono::milliseconds interval = std::chrono::milliseconds(100))
      : gpu_(std::move(gpu)), interval_(interval) {}
  ~GpuWatch() { end(); }

  /// Forgets what was seen before.
  void start();
  /// What was seen since start(); absent when it was never started.
  std::optional<GpuReport> stop();

 private:
  void watch();
  void end();

  std::unique_ptr<Nvml> gpu_;
  std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
  std::vector<GpuSample> samples_;  // the thread's while it runs
  std::chrono::steady_clock::time_point started_;
};

}  // namespace ptrain
