// The distribution of a value's elements over calibration samples, and the 8-bit format chosen from it.
#pragma once

#include "core/base/enums.h"
#include "core/ops/quantization/quantized_format.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// How the largest representable magnitude is chosen. minmax: the largest seen. percentile: the one that all but one in
/// 10,000 elements lie below. mse: the one with the least expected squared error. automatic: compare the three.
enum class CalibrationMethod { automatic, minmax, percentile, mse };
template <>
struct EnumNames<CalibrationMethod> {
  static constexpr std::array<std::string_view, 4> names{"auto", "minmax", "percentile", "mse"};
};

/// A histogram of magnitudes whose range doubles when exceeded.
class Distribution {
 public:
  Distribution() : counts_(bins) {}

  /// Returns false if a value is not finite; then none of these count.
  bool add(std::span<const float> values);

  /// u8 if nothing was negative, else s8. A value that is always 0 has a scale of 1.
  QuantizedFormat format(CalibrationMethod method) const;
  /// The expected squared error of an element in a format with largest magnitude `reach`: step^2 / 12 for rounding
  /// (Bennett, "Spectra of Quantized Signals", 1948), plus the squared clipping error. Zeros have no error.
  double squared_error(double reach) const;

 private:
  static constexpr std::size_t bins = 4096;

  DType dtype() const { return negative_ ? DType::s8 : DType::u8; }
  double levels() const { return negative_ ? 127 : 255; }
  double width() const { return range_ / static_cast<double>(bins); }
  void widen(double magnitude);
  double percentile_reach() const;
  double least_error_reach() const;

  std::vector<std::int64_t> counts_;  // of magnitudes above 0, by bin
  std::int64_t zeros_ = 0, total_ = 0;
  double range_ = 0, largest_ = 0;
  bool negative_ = false;
};

}  // namespace ptrain
