#include "cli/machine_check/burn_in_request.h"

#include "cli/open_device.h"
#include "core/base/signals.h"
#include "core/base/threads.h"
#include "core/machine_check/burn_in.h"

#include <fmt/format.h>

#include <exception>
#include <vector>

namespace ptrain {
namespace {

/// Result of one device's thread.
struct Outcome {
  std::vector<Check> checks;
  std::exception_ptr error;
};

void show(Progress& progress, const std::string& device, const BurnInLaps& laps, double seconds) {
  const auto thousandths = [](double of) { return static_cast<std::int64_t>(1000 * of); };
  progress.show(thousandths(std::min(laps.seconds, seconds)), thousandths(seconds), [&](double left) {
    return fmt::format("{}: {:.0f} of {:.0f} s under load, {:.0f} Gop/s{}{}", device, laps.seconds, seconds,
                       laps.rates.back() * 1e-9, laps.wrong > 0 ? fmt::format(", {} laps wrong", laps.wrong) : "",
                       left > 0 ? ", ends at " + end_time(left) : "");
  });
}

}  // namespace

int burn_in_machine(const BurnInRequest& request, CheckReport& report) {
  const SignalGuard signals;
  const bool gpu = cuda::unavailable_reason().empty();
  const std::size_t devices = gpu ? cuda::cuda_info().devices.size() : 1;
  BurnInOptions options;
  options.seconds = 60 * request.minutes;
  options.drift_percent = request.drift_percent;
  options.stopped = [] { return SignalGuard::received() != 0; };
  const auto progress = make_progress(ProgressStyle::automatic, static_cast<std::int64_t>(100 * options.seconds));
  progress->print_line(fmt::format("{} under load for {:.0f} s, to {}",
                                   gpu ? fmt::format("{} GPUs", devices) : "the CPU", options.seconds,
                                   end_time(options.seconds)));
  progress->begin(0);
  std::vector<Outcome> outcomes(devices);
  const auto work = [&](std::size_t i) {
    try {
      const std::string name = gpu ? fmt::format("cuda:{}", i) : "cpu";
      BurnInOptions own = options;
      if (i == 0) own.after_lap = [&](const BurnInLaps& laps) { show(*progress, name, laps, options.seconds); };
      const auto backend = make_backend({gpu ? DeviceKind::cuda : DeviceKind::cpu, {}}, static_cast<int>(i));
      outcomes[i].checks = burn_in_device(*backend, name, own);
    } catch (...) {
      outcomes[i].error = std::current_exception();
    }
  };
  if (devices == 1) {
    work(0);  // in this thread, which owns the CPU's thread team
  } else {
    run_together(devices, work);
  }
  progress->finish();
  for (Outcome& outcome : outcomes) {
    if (outcome.error) std::rethrow_exception(outcome.error);
    report.add(std::move(outcome.checks));
  }
  return SignalGuard::received();
}

}  // namespace ptrain
