// Accuracy of good runs: their primary metric, and the uncertainty of its mean.
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

/// The primary metric over the runs that have it.
struct Quality {
  std::optional<MetricInfo> metric;    // absent where no run was evaluated
  std::string others;                  // name of a different primary metric of some runs; empty: none
  std::vector<double> values;          // one per run
  std::int64_t eval_samples = 1;       // per run
  double run_variance = 0;             // of the mean, from the variation between runs
  std::optional<double> own_variance;  // of the mean, from the evaluation itself. All runs share its samples, so more
                                       // runs do not reduce it. Absent where the metric has no error of its own.

  double mean() const;
  /// Standard deviation between the runs; 0 for one run, or runs that do not differ.
  double stdev() const;
};

/// Measures the good runs of a case.
Quality measure_quality(const std::vector<const MeasuredRun*>& runs);

/// Title of a column of primary metrics: that of the most frequent one, "Accuracy" where there is none.
std::string quality_title(const std::vector<MetricInfo>& metrics);

/// Changes a column's title for use within a sentence: "top-1", but "MCC".
std::string in_a_sentence(std::string title);

/// "0.9150 ± 0.0012": mean, and standard deviation between runs that differ; titled likewise.
std::string quality_text(const Quality& quality, const std::string& column);
/// "0.9150", with the metric's title if it differs from the column's.
std::string quality_text(const MetricInfo& metric, double value, const std::string& column);

}  // namespace ptrain
