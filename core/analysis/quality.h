// How good runs were: the primary metric of a set of them, with what its mean is uncertain by.
#pragma once

#include "core/analysis/run_set.h"
#include "core/report/metric.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptrain {

/// The primary metric of a run's last evaluation; null where it has no value.
const MetricValue* find_primary_metric(const MeasuredRun& run);

/// The primary metric over runs that have one of that name.
struct Quality {
  std::optional<MetricInfo> metric;    // absent where no run was evaluated
  std::string others;                  // name of another primary metric that some of the runs have; empty: none
  std::vector<double> values;          // of each run
  std::int64_t eval_samples = 1;       // of each
  double run_variance = 0;             // of the mean, from how the runs differ
  std::optional<double> own_variance;  // of the mean, from the evaluation itself: the same samples for all runs, so
                                       // that runs do not narrow it. Absent where the metric has no error of its own.

  double mean() const;
};

/// What the good runs of a case came to.
Quality measure_quality(const std::vector<const MeasuredRun*>& runs);

/// How a column of primary metrics is called: the title of the most frequent one, "Accuracy" where there is none.
std::string quality_title(const std::vector<MetricInfo>& metrics);

/// A column's title within a sentence: "top-1", but "MCC".
std::string in_a_sentence(std::string title);

/// "0.9150", with the metric's title where the column is called after another one.
std::string quality_text(const MetricInfo& metric, double value, const std::string& column);

}  // namespace ptrain
