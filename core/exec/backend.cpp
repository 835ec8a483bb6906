#include "core/exec/backend.h"

#include "core/base/clock.h"

namespace ptrain {
namespace {

/// Where copy_to_host waits for the device anyway, the copy is made at once.
class ImmediateReadback final : public Readback {
 public:
  ImmediateReadback(Backend& backend, std::size_t bytes) : backend_(backend), value_(bytes) {}

  void start(const void* source) override { backend_.copy_to_host(value_.data(), source, value_.size()); }
  std::span<const std::byte> finish() override { return value_; }

 private:
  Backend& backend_;
  std::vector<std::byte> value_;
};

class HostLapTimer final : public LapTimer {
 public:
  void start() override {
    seconds_.clear();
    watch_.restart();
  }
  void lap() override { seconds_.push_back(watch_.restart()); }
  std::span<const double> seconds() override { return seconds_; }

 private:
  Stopwatch watch_;
  std::vector<double> seconds_;
};

}  // namespace

std::shared_ptr<Collectives> Backend::make_collectives(HostCollectives& host) {
  return {std::shared_ptr<Collectives>(), &host};
}

std::unique_ptr<LapTimer> make_host_lap_timer() { return std::make_unique<HostLapTimer>(); }

std::unique_ptr<LapTimer> Backend::make_lap_timer() { return make_host_lap_timer(); }

std::unique_ptr<Readback> Backend::make_readback(std::size_t bytes) {
  return std::make_unique<ImmediateReadback>(*this, bytes);
}

}  // namespace ptrain
