// Whether the accuracy that several training seeds reach agrees with a published one.
#pragma once

#include "core/analysis/run_set.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// unknown: fewer than two seeds were measured.
enum class Agreement { within, below, above, unknown };
/// "within", "below", "above", "unknown"
std::string_view to_string(Agreement agreement);

struct PublishedComparison {
  std::optional<MetricInfo> metric;  // absent: nothing was evaluated
  std::int64_t seeds = 0;
  double mean = 0, stdev = 0;  // over the seeds
  double lower = 0, upper = 0;
  double detectable = 0;                     // difference that would be found with a probability of 80 %
  Agreement agreement = Agreement::unknown;  // of the mean with the published value
};

/// The published value agrees when the difference to the mean over seeds lies within Student's 95 % interval, of which
/// the published value has its part: it is a mean over published.seeds, mostly one, that vary alike. Above and below
/// are sides of that interval. Of runs with the same seed the first counts. The error of the evaluation itself does not
/// count, since both were evaluated on the same samples.
PublishedComparison compare_with_published(const std::vector<const MeasuredRun*>& runs,
                                           const PublishedValue& published);

/// The difference that a comparison of `seeds` seeds finds with a probability of 80 %, in standard deviations between
/// seeds; `seeds` >= 2.
double find_detectable_difference(std::int64_t seeds, std::int64_t published_seeds);

/// "0.7593 ± 0.0006 over 5 seeds; published 0.7613: below (agrees from 0.7575 to 0.7611; differences of 0.0022 are
/// found in 80 % of cases)"
std::string published_text(const PublishedComparison& comparison, const PublishedValue& published);

}  // namespace ptrain
