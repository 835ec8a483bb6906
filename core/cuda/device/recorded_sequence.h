// A step's launches as a CUDA graph: run once as they are, recorded at the second run, replayed from then on.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/stream.h"

namespace ptrain::cuda {

/// The first run is eager, so that whatever libraries set up lazily happens outside a capture. What kernels read that
/// varies from step to step (learning rate, random step, loss scale) lies in device memory, so that a replay sees it.
/// Where recording fails, every run launches one by one, and the device has a note of it.
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
