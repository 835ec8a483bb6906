#include "core/tasks/loss_divisor.h"

#include "core/data/tensor_names.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

double divisor_of_labels(std::span<const std::int32_t> labels, std::span<const float> class_weights) {
  if (class_weights.empty()) return static_cast<double>(std::ranges::count_if(labels, [](auto l) { return l >= 0; }));
  double sum = 0;
  for (const std::int32_t label : labels) {
    if (label >= 0) sum += static_cast<double>(class_weights[static_cast<std::size_t>(label)]);
  }
  return sum;
}

}  // namespace

double loss_divisor(const Batch& batch, std::span<const float> class_weights) {
  using namespace tensor_names;
  for (const char* name : {labels, masks, next_tokens}) {
    if (batch.has(name)) return divisor_of_labels(batch.values<std::int32_t>(name), class_weights);
  }
  if (!batch.has(values)) return static_cast<double>(batch.count);
  return static_cast<double>(
      std::ranges::count_if(batch.values<float>(values), [](float value) { return !std::isnan(value); }));
}

}  // namespace ptrain
