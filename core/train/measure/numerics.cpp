#include "core/train/measure/numerics.h"

#include "core/base/counted.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

double largest_magnitude(const ValueRange& range) {
  return range.values > range.not_finite ? std::max(std::abs(range.minimum), std::abs(range.maximum)) : 0;
}

std::string list_not_finite(const std::map<Pass, NonFinite>& found) {
  std::string list;
  for (const auto& [pass, first] : found) list += (list.empty() ? "the first not finite: " : "; ") + describe(first);
  return list.empty() ? "all finite" : list;
}

}  // namespace

std::string explain_divergence(const ValueWatch* watch, LossScaling scaling) {
  if (watch == nullptr) return "; output.numerics=true names the op and tensor where it begins";
  const auto first = watch->find_first(scaling == LossScaling::on ? Pass::forward : Pass::exchange);
  return first ? "; it began with " + describe(*first) : "; all values that this rank computed are finite";
}

std::string summarize_values(const Numerics& numerics) {
  std::string line = "output.numerics: values of training, " + list_not_finite(numerics.not_finite);
  const auto largest = std::ranges::max_element(numerics.ranges, {}, largest_magnitude);
  if (largest == numerics.ranges.end()) return line;
  const auto above =
      std::ranges::count_if(numerics.ranges, [](const ValueRange& range) { return range.above_f16 > 0; });
  return line +
         fmt::format("; largest magnitude {:.4g} in {} ({}); beyond fp16 in {} of {}; step times include the reading",
                     largest_magnitude(*largest), largest->tensor, phase_name(largest->phase), above,
                     counted(numerics.ranges.size(), "tensor"));
}

}  // namespace ptrain
