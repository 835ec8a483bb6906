// Describes a run's data sets before the first step.
#pragma once

#include "core/config/config.h"
#include "core/data/dataset.h"
#include "core/report/figures.h"

#include <string>
#include <vector>

namespace ptrain {

struct DataFindings {
  DataReport report;
  std::vector<std::string> notes;  // the data sets' own, and a warning if the vocabulary does not fit the text
};

/// `evaluation` may be null, `seed` divided the data. Tokenises up to ten thousand training samples of text.
DataFindings examine_data(const DataConfig& data, std::int64_t seed, const Dataset& training,
                          const Dataset* evaluation);

}  // namespace ptrain
