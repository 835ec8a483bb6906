#include "core/cuda/device/event_timer.h"

#include "core/cuda/device/check.h"

namespace ptrain::cuda {

EventTimer::~EventTimer() {
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
}

void EventTimer::start() {
  recorded_ = 0;
  lap();
}

void EventTimer::lap() {
  const cudaStream_t stream = device_.stream();  // first: an event belongs to the thread's current GPU
  if (recorded_ == events_.size()) CUDA_CHECK(cudaEventCreate(&events_.emplace_back()));
  CUDA_CHECK(cudaEventRecord(events_[recorded_++], stream));
}

std::span<const double> EventTimer::seconds() {
  CUDA_CHECK(cudaEventSynchronize(events_[recorded_ - 1]));
  seconds_.clear();
  for (std::size_t i = 1; i < recorded_; ++i) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events_[i - 1], events_[i]));
    seconds_.push_back(milliseconds * 1e-3);
  }
  device_.note_busy();
  return seconds_;
}

double EventTimer::warm_up_seconds() const {
  // An idle H200 falls to 345 MHz; how soon is not documented.
  constexpr double idle_seconds = 1, rising_seconds = 0.3;
  return device_.idle_seconds() > idle_seconds ? rising_seconds : 0;
}

}  // namespace ptrain::cuda
