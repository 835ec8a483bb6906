#include "core/train/measure/device_figures.h"

#include "core/exec/rates.h"
#include "core/ops/math/statistics_drift.h"
#include "core/train/measure/step_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain {

DeviceFigures read_device(const StepOptions& options, Backend& backend, const PlanSet& training) {
  DeviceFigures figures;
  figures.measured_peak_bytes = backend.memory().usage().peak_resident_bytes;
  figures.kernels = training.profile();
  figures.datasheet_peak_flops = backend.instruments().datasheet_peak_flops(options.precision(), options.plan.kernels);
  return figures;
}

std::optional<double> measured_peak(const StepOptions& options, Backend& backend, const MeasuredSteps& steps,
                                    const Ranks& ranks, TrainObserver& observer) {
  if (!worth_a_peak_measurement(ranks.largest(steps.seconds))) return std::nullopt;
  const double achieved = steps.seconds > 0 ? steps.flops / steps.seconds / ranks.world_size() : 0;
  return peak_beside_steps(
      achieved, [&] { return measure_peak_flops(backend, options.precision(), options.plan.kernels); },
      [&](bool mine) { return ranks.largest(mine ? 1 : 0) > 0; }, observer);
}

double peak_beside_steps(double achieved, const std::function<double()>& measure,
                         const std::function<bool(bool mine)>& again, TrainObserver& observer) {
  constexpr int most_measurements = 3;
  const double first = measure();
  double peak = first;
  int measurements = 1;
  for (; again(achieved > peak) && measurements < most_measurements; ++measurements) peak = std::max(peak, measure());
  if (achieved <= first) return peak;
  const std::string found = fmt::format(
      "mfu: steps did {:.4g} FLOP/s, more than the {:.4g} of one matrix product; measured again, it does {:.4g}",
      achieved, first, peak);
  observer.on_note(achieved <= peak ? found : found + ": mfu is above 1, since the steps exceed the measured peak");
  return peak;
}

std::optional<GuardFinding> collect_guard(const PlanSet& training, const Ranks& ranks, TrainObserver& observer) {
  const GuardFinding mine = training.guard_finding().value_or(GuardFinding{});
  std::array<double, 1> compared{static_cast<double>(mine.compared)};
  ranks.add_up(compared);
  const double worst = ranks.largest(mine.worst_drift);
  if (compared[0] == 0) return std::nullopt;
  if (worst > statistics_drift_bound) {
    observer.on_note(
        fmt::format("batch_norm_guard_every_steps: statistics of persistent batch norms differ from plain ones by up "
                    "to {:.2g} of a standard deviation, more than the {:g} that rounding explains; "
                    "flags.cudnn_batchnorm_spatial_persistent: false computes them plainly",
                    worst, statistics_drift_bound));
  }
  return GuardFinding{std::llround(compared[0]), worst};
}

}  // namespace ptrain
