// How the elements of a value are distributed over calibration samples, and the 8-bit formats that this suggests.
#pragma once

#include "core/base/enums.h"
#include "core/ops/quantization/quantized_format.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// How the largest magnitude that a format reaches is chosen. minmax: the largest that was seen. percentile: that below
/// which all but one element in 10,000 lie. mse: the least expected squared error. automatic leaves the choice between
/// the three to a comparison.
enum class CalibrationMethod { automatic, minmax, percentile, mse };
template <>
struct EnumNames<CalibrationMethod> {
  static constexpr std::array<std::string_view, 4> names{"auto", "minmax", "percentile", "mse"};
};

/// A histogram of magnitudes whose range doubles when a larger one comes.
class Distribution {
 public:
  Distribution() : counts_(bins) {}

  /// False where a value is not finite; then nothing of these counts.
  bool add(std::span<const float> values);

  /// u8 where nothing was negative, else s8. A value that is 0 throughout has a scale of 1.
  QuantizedFormat format(CalibrationMethod method) const;
  /// The expected squared error of an element in a format whose largest magnitude is `reach`: step^2 / 12 of what is
  /// rounded (Bennett, "Spectra of Quantized Signals", 1948), and what lies beyond it squared. Zeros have none.
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
