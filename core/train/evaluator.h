// Runs an evaluation plan over a data set and counts what is right.
#pragma once

#include "core/data/loader/loader.h"
#include "core/train/plan_set.h"
#include "core/train/run_result.h"

#include <functional>

namespace ptrain {

struct EvaluationOptions {
  LoaderOptions loader;
  std::int64_t max_samples = 0;                                         // 0: all; else the first ones of the data set
  std::function<void(std::int64_t done, std::int64_t total)> progress;  // after each batch
  std::function<bool()> stop;                                           // true: give up early
  std::function<void(std::span<double> sums)> add_up;                   // over ranks that each evaluate a part
};

/// This rank evaluates its part; with several ranks the figures are those of all samples.
/// Loss, top-1, top-5 and F1 of `plans` (bound, of a graph with outputs "loss" and "logits") over `data`. The time of
/// compiling more of them is not in the result's.
EvalResult evaluate(PlanSet& plans, const Dataset& data, const EvaluationOptions& options);

}  // namespace ptrain
