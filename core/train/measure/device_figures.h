// What the device and its plans have to tell when a run has trained.
#pragma once

#include "core/config/config.h"
#include "core/train/plans/plan_set.h"
#include "core/train/ranks.h"
#include "core/train/train_observer.h"

#include <optional>
#include <vector>

namespace ptrain {

struct DeviceFigures {
  std::int64_t measured_peak_bytes = 0;  // 0: not known
  std::vector<NodeProfile> kernels;
  // FLOP/s of matrix products in the run's precision on rank 0's device: measured, and by its data sheet.
  std::optional<double> peak_flops, datasheet_peak_flops;
};

/// All of them but the measured peak.
DeviceFigures read_device(const Config& config, const Backend& backend, const PlanSet& training);
/// The device's peak in FLOP/s, measured now; none after so few `seconds` of measured training that it is not worth it.
std::optional<double> measured_peak(const Config& config, Backend& backend, double seconds);

/// What the guards of all ranks' batch norms found in `training`, with a note when it is too much; none where nothing
/// was compared. Every rank calls it.
std::optional<GuardFinding> collect_guard(const Config& config, const PlanSet& training, const Ranks& ranks,
                                          TrainObserver& observer);

}  // namespace ptrain
