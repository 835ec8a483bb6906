// What kind of data set lies in a folder or a file that a user names.
#pragma once

#include "core/data/factory.h"

#include <filesystem>

namespace ptrain {

/// Settings that open the data at `path`: an image folder, a folder of clips, shards, packed images, MNIST's and
/// CIFAR's files, a folder with a table of texts named train, or one table. Where it has nothing to evaluate on, a
/// tenth of each class is set apart. `columns` is for tables. Photos are given a size by twenty of them: up to 64 px
/// and below 224 their own shorter side, else 224. Throws Error{usage} naming `path` and what was expected where
/// nothing of this is found, and as open_dataset does.
DataSettings find_data(const std::filesystem::path& path, const ColumnNames& columns);

}  // namespace ptrain
