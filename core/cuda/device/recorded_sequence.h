// A step's launches as a CUDA graph: launched directly at first, recorded at the second run, replayed from then on.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/stream.h"

namespace ptrain::cuda {

/// The first run is eager, so that libraries' lazy initialisation happens outside a capture. Values that vary from step
/// to step (learning rate, random step, loss scale) are in device memory, where a replay reads them. If recording
/// fails, every run launches kernels one by one, and the device notes it.
class RecordedSequence final : public LaunchSequence {
 public:
  explicit RecordedSequence(Device& device) : device_(device) {}
  ~RecordedSequence() override;

  void run(const std::function<void()>& enqueue) override;
  bool steady() const override { return executable_ != nullptr || gave_up_; }

 private:
  void record(const std::function<void()>& enqueue);
  void capture(const std::function<void()>& enqueue);

  Device& device_;
  bool warmed_up_ = false;
  bool gave_up_ = false;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace ptrain::cuda
