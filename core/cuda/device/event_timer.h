// Launches timed by CUDA events between them.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/stream.h"

#include <vector>

namespace ptrain::cuda {

/// A lap that the host was late to enqueue holds the wait for it.
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
  std::vector<cudaEvent_t> events_;  // kept from run to run
  std::size_t recorded_ = 0;
  std::vector<double> seconds_;
};

}  // namespace ptrain::cuda
