// What the device and its plans have to tell when a run has trained.
#pragma once

#include "core/config/config.h"
#include "core/runtime/plan_set.h"
#include "core/train/measure/step_timer.h"
#include "core/train/ranks.h"
#include "core/train/train_observer.h"

#include <functional>
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
DeviceFigures read_device(const Config& config, Backend& backend, const PlanSet& training);
/// The device's peak in FLOP/s, measured now; none after so few seconds of measured training that it is not worth it.
/// Every rank calls it.
std::optional<double> measured_peak(const Config& config, Backend& backend, const MeasuredSteps& steps,
                                    const Ranks& ranks, TrainObserver& observer);

/// The largest of up to three measurements of a peak in FLOP/s: another one is made while steps `achieved` more than
/// was measured (`again` may have other ranks' say in that), and a note tells of it. What ran beside the first one, or
/// a clock that was lower, is no part of the device's peak.
double peak_beside_steps(double achieved, const std::function<double()>& measure,
                         const std::function<bool(bool mine)>& again, TrainObserver& observer);

/// What the guards of all ranks' batch norms found in `training`, with a note when it is too much; none where nothing
/// was compared. Every rank calls it.
std::optional<GuardFinding> collect_guard(const Config& config, const PlanSet& training, const Ranks& ranks,
                                          TrainObserver& observer);

}  // namespace ptrain
