// Splits off training samples for evaluation, for data sets without evaluation samples.
#pragma once

#include "core/data/factory.h"

#include <span>

namespace ptrain {

/// Default of data.split.dev where there is no other evaluation data.
inline constexpr double default_dev_fraction = 0.1;

/// Whether evaluation uses a fraction of the training samples, for data without evaluation samples of its own.
inline bool has_dev_split(const DataSettings& settings) { return settings.dev_fraction > 0; }

/// Throws Error{usage}: `place` already has evaluation samples, so settings.dev_fraction does not apply.
[[noreturn]] void reject_dev_split(const std::filesystem::path& place);

/// Indices, ascending, of the training samples that belong to `split` by settings.dev_fraction. Of each class of n
/// samples, the nearest number to dev_fraction * n, but less than n, is for evaluation; which ones is drawn from
/// settings.seed and depends only on that and `labels`. Throws Error{usage} where none is left to evaluate on; `place`
/// is for the message.
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
