#include "core/exec/stream.h"

#include "core/base/clock.h"

#include <sys/resource.h>

#include <vector>

namespace ptrain {
namespace {

class HostLapTimer final : public LapTimer {
 public:
  void start() override {
    seconds_.clear();
    watch_.restart();
  }
  void lap() override { seconds_.push_back(watch_.restart()); }
  std::span<const double> seconds() override { return seconds_; }
  std::int64_t disturbances() const override {
    rusage usage{};
    return ::getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
  }

 private:
  Stopwatch watch_;
  std::vector<double> seconds_;
};

}  // namespace

std::unique_ptr<LapTimer> make_host_lap_timer() { return std::make_unique<HostLapTimer>(); }

}  // namespace ptrain
