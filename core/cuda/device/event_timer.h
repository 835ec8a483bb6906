// Times launches with CUDA events between them.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/stream.h"

#include <vector>

namespace ptrain::cuda {

/// If the host enqueues a lap late, the wait counts into the lap.
class EventTimer final : public LapTimer {
 public:
  explicit EventTimer(const Device& device) : device_(device) {}
  ~EventTimer() override;

  void start() override;
  void lap() override;
  std::span<const double> seconds() override;
  double warm_up_seconds() const override;

 private:
  const Device& device_;
  std::vector<cudaEvent_t> events_;  // reused between measurements
  std::size_t recorded_ = 0;
  std::vector<double> seconds_;
};

}  // namespace ptrain::cuda
