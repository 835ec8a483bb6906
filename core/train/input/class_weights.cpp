#include "core/train/input/class_weights.h"

namespace ptrain {

std::vector<float> class_weights(const ClassWeights& requested, std::int64_t classes, const Dataset& training) {
  if (!requested.balanced) return {requested.given.begin(), requested.given.end()};
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (std::int64_t i = 0; i < training.size(); ++i) ++counts[static_cast<std::size_t>(training.label(i))];
  const double share = static_cast<double>(training.size()) / static_cast<double>(counts.size());
  std::vector<float> weights;
  for (const std::int64_t count : counts) {
    weights.push_back(count == 0 ? 1.0f : static_cast<float>(share / static_cast<double>(count)));
  }
  return weights;
}

}  // namespace ptrain
