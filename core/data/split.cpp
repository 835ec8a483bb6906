#include "core/data/split.h"

#include "core/data/loader/permutation.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ptrain {

void reject_dev_split(const std::filesystem::path& place) {
  fail_usage("data.split.dev: {} exists for evaluation and would not be read; remove the key or that data",
             place.string());
}

std::vector<std::int64_t> select_stratified_split(std::span<const std::int32_t> labels, const DataSettings& settings,
                                                  Split split, const std::string& place) {
  std::map<std::int32_t, std::vector<std::int64_t>> by_class;
  for (std::size_t i = 0; i < labels.size(); ++i) by_class[labels[i]].push_back(static_cast<std::int64_t>(i));
  std::vector<std::int64_t> part;
  std::int64_t evaluated = 0;
  for (const auto& [label, samples] : by_class) {
    const auto count = static_cast<std::int64_t>(samples.size());
    const std::int64_t kept =
        std::min<std::int64_t>(std::llround(settings.dev_fraction * static_cast<double>(count)), count - 1);
    evaluated += kept;
    const Permutation order(settings.seed, static_cast<std::uint64_t>(label), count, DataStream::split);
    const std::int64_t begin = split == Split::eval ? 0 : kept, end = split == Split::eval ? kept : count;
    for (std::int64_t i = begin; i < end; ++i) part.push_back(samples[static_cast<std::size_t>(order[i])]);
  }
  if (evaluated == 0) {
    fail_usage("data.split.dev: {} of the {} samples in {} leaves no samples to evaluate on", settings.dev_fraction,
               labels.size(), place);
  }
  std::sort(part.begin(), part.end());
  return part;
}

}  // namespace ptrain
