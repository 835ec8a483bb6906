// Detects the kind of a data set in a folder or file that a user names.
#pragma once

#include "core/data/factory.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// Settings that open the data at `path`, by the first source that recognises it (Recognition in
/// core/data/source_registry.h). Without evaluation samples, a tenth of each class is kept for evaluation. `columns` is
/// for tables. Throws Error{usage} naming `path` and what was expected where no source recognises it, and as
/// open_dataset does.
DataSettings find_data(const std::filesystem::path& path, const ColumnNames& columns);

/// A summary of a data set without its samples.
struct SampleCounts {
  std::int64_t samples = 0;  // in the training split
  std::int64_t classes = 0;
  ImageSize image_size = {};  // empty for text
  int frames = 0;             // of a clip; 0: images and texts
  std::vector<std::string> notes = {};
};

/// Counts the samples that `settings` open, by the source's own method. Throws as open_dataset() does.
SampleCounts count_samples(const DataSettings& settings);
/// Counts by opening both splits.
SampleCounts count_opened(const DataSettings& settings);

}  // namespace ptrain
