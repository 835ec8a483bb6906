// The stream that orders a device's work, and its clock.
#pragma once

#include "core/base/crowding.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace ptrain {

/// A sequence of launches whose order and pointers never change, repeated every step.
class LaunchSequence {
 public:
  virtual ~LaunchSequence() = default;
  /// Runs `enqueue`; a backend may record its launches and replay them from then on.
  virtual void run(const std::function<void()>& enqueue) { enqueue(); }
  /// Whether later runs only replay the last one: nothing is left to set up or record.
  virtual bool steady() const { return true; }
};

/// Times consecutive launches on the device's own clock.
class LapTimer {
 public:
  virtual ~LapTimer() = default;
  /// The first lap begins with what is enqueued next.
  virtual void start() = 0;
  /// Ends a lap after all work enqueued so far, and begins the next.
  virtual void lap() = 0;
  /// Seconds of every lap since start(); waits for the last.
  virtual std::span<const double> seconds() = 0;
  /// How long a trial loads the device before it measures: an idle GPU's clocks rise only under load.
  virtual double warm_up_seconds() const { return 0; }
  /// How often other programs have taken a core from this one: laps meanwhile say little.
  virtual std::int64_t disturbances() const { return 0; }
};

/// The host's clock, for devices whose kernels run synchronously.
std::unique_ptr<LapTimer> make_host_lap_timer();

/// All work of a backend goes through one stream. This base class is the host's, where work is done when a kernel's run
/// returns.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual void synchronize() {}
  /// Names what is launched until end_range() `name` in a profiler's timeline, where the device has one (NVTX). Ranges
  /// may nest.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}
  /// Whether Plan::run returns before the work is done, so that the host can prepare the next step meanwhile.
  virtual bool runs_ahead() const { return false; }
  /// The stream outlives the timer.
  virtual std::unique_ptr<LapTimer> make_lap_timer() { return make_host_lap_timer(); }
  virtual std::unique_ptr<LaunchSequence> make_sequence() { return std::make_unique<LaunchSequence>(); }
  /// Call it before each run of a plan, on the thread that runs it.
  void begin_run() { crowding_.observe(); }

 private:
  Crowding crowding_;
};

}  // namespace ptrain
