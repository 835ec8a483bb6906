// Finds the shard files of a split in a folder.
#pragma once

#include "core/data/dataset.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// The shards of a split, by name: the files in the folder train (or val, test, validation) below `root`, or those of
/// `root` itself with that word or validate in their names, such as train-00000-of-00128 or imagenet-train-000.tar. For
/// training all of `root` if no name has any of these words. Hidden files are ignored. Empty where there are none.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& root, Split split,
                                               bool (*is_shard)(std::string_view name));

/// `name` without the suffix of a compressed file; empty for other names.
std::string without_compression(std::string_view name);

/// The total in a name such as train-00000-of-00128: 128; 0 for other names.
std::int64_t shard_count(std::string_view name);

/// A note if there are fewer shards than their names count; else empty.
std::string missing_shards(const std::vector<std::filesystem::path>& shards);

}  // namespace ptrain
