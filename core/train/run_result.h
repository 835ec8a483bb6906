// All measurements of a training run; the report is made from it.
#pragma once

#include "core/report/report.h"
#include "core/train/evaluator.h"
#include "core/train/measure/device_figures.h"
#include "core/train/measure/loss_record.h"
#include "core/train/measure/numerics.h"
#include "core/train/measure/step_timer.h"
#include "core/train/phases.h"
#include "core/train/plans/training_plans.h"
#include "core/train/state/checkpoints.h"
#include "core/train/state/starting_state.h"
#include "core/train/step_runner.h"

#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// How a run ended, and values that belong to no other part.
struct RunEnd {
  RunStatus status = RunStatus::ok;
  std::string message;                           // why, when not ok
  int signal = 0;                                // that interrupted the run
  double setup_seconds = 0;                      // from the start to the first step, including the search
  std::string ended_early;                       // why it ended regularly before its last step
  BadSamples bad_samples;                        // of training, over all ranks
  std::optional<std::int64_t> device_decoded;    // training images decoded with data.decoder gpu
  std::optional<GuardFinding> batch_norm_guard;  // over all ranks; none if nothing was compared
  std::optional<Numerics> numerics;
  std::optional<TableReport> table;  // rows of dynamic tables
};

/// The combined results of all parts of a run.
struct RunResult : RunEnd,
                   PlannedFigures,
                   StartingPoint,
                   StepCounts,
                   TrainedSteps,
                   LossScales,
                   MeasuredSteps,
                   DeviceFigures {
  std::vector<EvalResult> evaluations;
  std::string checkpoint;  // the last one written; empty: none
  std::optional<BestReport> best;
  std::optional<TargetReport> target;
};

}  // namespace ptrain
