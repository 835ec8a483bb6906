// The order in which a device does its work, and its clock.
#pragma once

#include <functional>
#include <memory>
#include <span>

namespace ptrain {

/// A run of launches whose order and pointers never change, repeated step after step.
class LaunchSequence {
 public:
  virtual ~LaunchSequence() = default;
  /// Does what `enqueue` does; a backend may record its launches and replay the record from then on.
  virtual void run(const std::function<void()>& enqueue) { enqueue(); }
  /// Whether later runs only do again what the last one did: nothing is left to be set up or recorded.
  virtual bool steady() const { return true; }
};

/// Times launches one after the other, on the device's own clock.
class LapTimer {
 public:
  virtual ~LapTimer() = default;
  /// The first lap begins with what is enqueued next.
  virtual void start() = 0;
  /// A lap ends, and the next begins, behind all work enqueued so far.
  virtual void lap() = 0;
  /// Of every lap since start(); waits for the last.
  virtual std::span<const double> seconds() = 0;
  /// How long a trial keeps the device busy before it measures: an idle GPU's clocks rise under load only.
  virtual double warm_up_seconds() const { return 0; }
};

/// Where kernels run at once, the host's clock is the device's.
std::unique_ptr<LapTimer> make_host_lap_timer();

/// All work of a backend goes through one stream. This one is the host's, which has done the work when a kernel's run
/// returns.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual void synchronize() {}
  /// What is launched until end_range() is called `name` in a profiler's timeline, where the device has one (NVTX).
  /// Ranges may lie in ranges.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}
  /// Whether Plan::run returns before the work is done, so that the next step can be prepared meanwhile.
  virtual bool runs_ahead() const { return false; }
  /// The stream outlives what it makes.
  virtual std::unique_ptr<LapTimer> make_lap_timer() { return make_host_lap_timer(); }
  virtual std::unique_ptr<LaunchSequence> make_sequence() { return std::make_unique<LaunchSequence>(); }
};

}  // namespace ptrain
