// Load that is held for long: does a device stay as fast, and its results the same?
#pragma once

#include "core/exec/backend.h"
#include "core/machine_check/checks.h"
#include "core/report/progress.h"

namespace ptrain {

/// The same work again and again.
struct BurnInWork {
  double operations = 0;
  std::function<void()> run;                // once; waits for its end
  std::function<std::uint64_t()> checksum;  // of the last result
};

/// What has come of it so far, after each lap: some runs of every work, as many in every lap.
struct BurnInLaps {
  std::vector<double> rates;  // operations/s of each lap
  std::int64_t wrong = 0;     // laps whose last results are not those of the first run
  double seconds = 0;
};

struct BurnInOptions {
  double seconds = 60;
  double drift_percent = 5;  // that the rate may fall by
  SecondsClock clock = steady_seconds;
  std::function<bool()> stopped = [] { return false; };  // asked after each lap
  std::function<void(const BurnInLaps&)> after_lap = [](auto&) {};
};

/// Runs `work` for options.seconds, in about thirty laps or one every two seconds.
BurnInLaps burn_in(std::span<const BurnInWork> work, const BurnInOptions& options);

/// Results, and the last third's rate against the first third's: it fails where the whole interval of the change (95 %,
/// from ranks) lies below the bound, and is skipped where the interval reaches over it.
std::vector<Check> check_laps(const BurnInLaps& laps, const BurnInOptions& options);

/// A large product and a large convolution in the precision that pays, on `backend` for options.seconds; its checks, as
/// `device`'s, with those of throttling and of memory errors where the device has sensors.
std::vector<Check> burn_in_device(Backend& backend, const std::string& device, const BurnInOptions& options);

}  // namespace ptrain
