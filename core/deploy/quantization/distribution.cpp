#include "core/deploy/quantization/distribution.h"

#include "core/base/errors.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

bool Distribution::add(std::span<const float> values) {
  float largest = 0, least = 0;
  bool finite = true;
  for (const float value : values) {
    largest = std::max(largest, std::abs(value));
    least = std::min(least, value);
    finite = finite && std::isfinite(value);
  }
  if (!finite) return false;
  negative_ = negative_ || least < 0;
  largest_ = std::max(largest_, static_cast<double>(largest));
  total_ += static_cast<std::int64_t>(values.size());
  if (largest > 0) widen(static_cast<double>(largest));
  const auto per_unit = static_cast<float>(range_ > 0 ? 1 / width() : 0);
  for (const float value : values) {
    const float magnitude = std::abs(value);
    if (magnitude > 0) {
      ++counts_[std::min(static_cast<std::size_t>(magnitude * per_unit), bins - 1)];
    } else {
      ++zeros_;
    }
  }
  return true;
}

void Distribution::widen(double magnitude) {
  if (range_ == 0) range_ = magnitude;
  while (range_ < magnitude) {
    for (std::size_t i = 0; i < bins / 2; ++i) counts_[i] = counts_[2 * i] + counts_[2 * i + 1];
    std::fill(counts_.begin() + bins / 2, counts_.end(), 0);
    range_ *= 2;
  }
}

QuantizedFormat Distribution::format(CalibrationMethod method) const {
  double reach = largest_;
  switch (method) {
    case CalibrationMethod::automatic:
      invariant(false, "a format needs one method");
      break;
    case CalibrationMethod::minmax:
      break;
    case CalibrationMethod::percentile:
      reach = percentile_reach();
      break;
    case CalibrationMethod::mse:
      reach = least_error_reach();
      break;
  }
  const auto scale = static_cast<float>(reach / levels());
  return {dtype(), scale > 0 ? scale : 1.0f};
}

double Distribution::percentile_reach() const {
  constexpr double beyond = 1e-4;  // fraction of all elements
  auto left = static_cast<std::int64_t>(beyond * static_cast<double>(total_));
  for (std::size_t bin = bins; bin-- > 0;) {
    left -= counts_[bin];
    if (left < 0) return std::min(largest_, width() * static_cast<double>(bin + 1));
  }
  return largest_;
}

double Distribution::squared_error(double reach) const {
  const double step = reach / levels();
  double rounded = 0, clipped = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const double magnitude = width() * (static_cast<double>(bin) + 0.5), count = static_cast<double>(counts_[bin]);
    if (magnitude <= reach) {
      rounded += count;
    } else {
      clipped += count * (magnitude - reach) * (magnitude - reach);
    }
  }
  return total_ == 0 ? 0 : (rounded * step * step / 12 + clipped) / static_cast<double>(total_);
}

double Distribution::least_error_reach() const {
  constexpr int steps = 128;
  double best = largest_, least = squared_error(largest_);
  for (int i = 1; i < steps; ++i) {
    const double reach = largest_ * i / steps;
    if (const double error = squared_error(reach); error < least) {
      least = error;
      best = reach;
    }
  }
  return best;
}

}  // namespace ptrain
