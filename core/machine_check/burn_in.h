// Sustained load on a device: checks that its speed and its results stay constant.
#pragma once

#include "core/exec/backend.h"
#include "core/machine_check/checks.h"
#include "core/report/progress.h"

namespace ptrain {

/// Work that is repeated.
struct BurnInWork {
  double operations = 0;
  std::function<void()> run;                // once; waits for its end
  std::function<std::uint64_t()> checksum;  // of the last result
};

/// Results after each lap; a lap runs every work, the same number of times in every lap.
struct BurnInLaps {
  std::vector<double> rates;  // operations/s of each lap
  std::int64_t wrong = 0;     // laps whose last results differ from the first run's
  double seconds = 0;
};

struct BurnInOptions {
  double seconds = 60;
  double drift_percent = 5;  // largest accepted drop of the rate
  SecondsClock clock = steady_seconds;
  std::function<bool()> stopped = [] { return false; };  // polled after each lap
  std::function<void(const BurnInLaps&)> after_lap = [](auto&) {};
};

/// Runs `work` for options.seconds, in about thirty laps of at least two seconds.
BurnInLaps burn_in(std::span<const BurnInWork> work, const BurnInOptions& options);

/// Checks the results, and the last third's rate against the first third's. It fails where the whole 95 % interval of
/// the change (from ranks) lies below the bound, and is skipped where the interval includes the bound.
std::vector<Check> check_laps(const BurnInLaps& laps, const BurnInOptions& options);

/// Runs a large product and a large convolution in the fastest training precision on `backend` for options.seconds.
/// Returns its checks, named for `device`, with throttling and memory errors where the device has sensors.
std::vector<Check> burn_in_device(Backend& backend, const std::string& device, const BurnInOptions& options);

}  // namespace ptrain
