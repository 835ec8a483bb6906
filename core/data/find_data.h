// What kind of data set lies in a folder or a file that a user names.
#pragma once

#include "core/data/factory.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ptrain {

/// Settings that open the data at `path`, by the first source that knows it (Recognition in core/data/registry.h).
/// Where it has nothing to evaluate on, a tenth of each class is set apart. `columns` is for tables. Throws
/// Error{usage} naming `path` and what was expected where no source knows it, and as open_dataset does.
DataSettings find_data(const std::filesystem::path& path, const ColumnNames& columns);

/// What a data set has, without its samples.
struct SampleCounts {
  std::int64_t samples = 0;  // of training
  std::int64_t classes = 0;
  ImageSize image_size = {};  // none of texts
  int frames = 0;             // of a clip; 0: of images and texts
  std::vector<std::string> notes = {};
};

/// Counts what `settings` open, as their source does. Throws as open_dataset() does.
SampleCounts count_samples(const DataSettings& settings);
/// Opens both splits.
SampleCounts count_opened(const DataSettings& settings);

}  // namespace ptrain
