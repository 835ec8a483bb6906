// Measurements of the device and its plans after training.
#pragma once

#include "core/runtime/plan_set.h"
#include "core/train/measure/step_timer.h"
#include "core/train/plans/step_options.h"
#include "core/train/ranks.h"
#include "core/train/train_observer.h"

#include <functional>
#include <optional>
#include <vector>

namespace ptrain {

struct DeviceFigures {
  std::int64_t measured_peak_bytes = 0;  // 0: unknown
  std::vector<NodeProfile> kernels;
  // FLOP/s of matrix products in the run's precision on rank 0's device: measured, and from its data sheet.
  std::optional<double> peak_flops, datasheet_peak_flops;
};

/// Reads all of them but the measured peak.
DeviceFigures read_device(const StepOptions& options, Backend& backend, const PlanSet& training);
/// The device's peak in FLOP/s, measured now; none if training was too short to justify it. Every rank calls it.
std::optional<double> measured_peak(const StepOptions& options, Backend& backend, const MeasuredSteps& steps,
                                    const Ranks& ranks, TrainObserver& observer);

/// The largest of up to three measurements of a peak in FLOP/s: it is repeated while steps `achieved` more than
/// measured (`again` may consult other ranks), with a note. Other load during the first measurement, or a lower clock,
/// would understate the device's peak.
double peak_beside_steps(double achieved, const std::function<double()>& measure,
                         const std::function<bool(bool mine)>& again, TrainObserver& observer);

/// The guard findings of all ranks' batch norms in `training`, with a note if the drift is too large; none if nothing
/// was compared. Every rank calls it.
std::optional<GuardFinding> collect_guard(const PlanSet& training, const Ranks& ranks, TrainObserver& observer);

}  // namespace ptrain
