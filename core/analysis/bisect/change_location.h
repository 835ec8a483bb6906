// Where in a series of commits a figure changed, from noisy runs of some of them on a machine that drifts.
#pragma once

#include "core/analysis/intervals.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// One run. Commits are numbered from the good end, 0, to the bad end.
struct CommitRun {
  std::size_t commit = 0;
  double value = 0;  // a logarithm, or a metric of at most 1
};

struct ChangeLocation {
  std::vector<double> probability;  // that the change came with this commit; of the good end 0
  double change = 0;                // from good to bad, in the unit of the values
  double error = 0;                 // its standard error
  std::int64_t freedom = 0;         // degrees of freedom of its Student distribution

  Interval change_interval(double confidence) const;
};

/// The posterior of the first changed commit, each equally likely beforehand. `runs` are in the order of measurement,
/// three or more, of both ends and of any commits between them; `last` is the bad end. The model is
///
///     value = level + change (from the first changed commit on) + normal noise,
///
/// with a level that walks at random from run to run, so that drift of the machine is distinguished from the change as
/// far as the order of the runs allows. Level, change and noise have flat priors and are integrated out, the rate of
/// drift over a grid (a local level model: Durbin and Koopman, "Time Series Analysis by State Space Methods", 2nd
/// ed., 2.2). A run far from both levels has its weight reduced as by Huber's estimator, so that one disturbed run
/// decides nothing.
ChangeLocation locate_change(std::span<const CommitRun> runs, std::size_t last);

/// Evidence that `differences`, each between a run of either end, have another centre than 0: a Bayes factor, the mean
/// of two with normal priors of the change over the noise, of variance 1 and 30 (t test: Gönen et al., "The Bayesian
/// two-sample t test", The American Statistician 59(3), 2005). If nothing changed, it ever exceeds x with a probability
/// of at most 1/x, however often it is computed (a test martingale: Robbins, "Statistical methods related to the law of
/// the iterated logarithm", Annals of Mathematical Statistics 41, 1970). 1 for fewer than two.
double compute_change_evidence(std::span<const double> differences);

}  // namespace ptrain
