// A part of the training samples that is kept for evaluation, where a data set brings none.
#pragma once

#include "core/data/factory.h"

#include <span>

namespace ptrain {

/// data.split.dev where nothing else is there to evaluate on.
inline constexpr double default_dev_fraction = 0.1;

/// Whether the data has no evaluation samples of its own and a part of the training samples takes their place.
inline bool has_dev_split(const DataSettings& settings) { return settings.dev_fraction > 0; }

/// Throws Error{usage}: `place` has the evaluation samples that settings.dev_fraction would make.
[[noreturn]] void reject_dev_split(const std::filesystem::path& place);

/// Indices, rising, of the training samples that belong to `split` by settings.dev_fraction. Of each class of n samples
/// the nearest number to dev_fraction * n, and less than n, is for evaluation; which ones they are is drawn by
/// settings.seed, and depends on nothing but that and `labels`. Throws Error{usage} where none is left to evaluate on;
/// `place` is for the message.
std::vector<std::int64_t> select_stratified_split(std::span<const std::int32_t> labels, const DataSettings& settings,
                                                  Split split, const std::string& place);

/// The elements at `indices`.
template <typename T>
std::vector<T> gathered(std::vector<T>&& all, std::span<const std::int64_t> indices) {
  std::vector<T> part;
  part.reserve(indices.size());
  for (const std::int64_t index : indices) part.push_back(std::move(all[static_cast<std::size_t>(index)]));
  return part;
}

}  // namespace ptrain
