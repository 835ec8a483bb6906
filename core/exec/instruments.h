// Measurement of a device: sensors, peak rates and test work, apart from its clock.
#pragma once

#include "core/exec/kernel.h"
#include "core/exec/rate_size.h"
#include "core/exec/sensors.h"

#include <functional>
#include <memory>
#include <optional>

namespace ptrain {

/// This base class is for a device without any.
class Instruments {
 public:
  virtual ~Instruments() = default;

  /// Null where the device has none. Throws Error{failed} saying why they cannot be read.
  virtual std::unique_ptr<Sensors> make_sensors() const { return nullptr; }
  /// FLOP/s of matrix products in `dtype` from the device's data sheet; absent if there is none.
  virtual std::optional<double> datasheet_peak_flops(DType, const KernelOptions&) const { return std::nullopt; }
  /// The work of rate_size.h in 8-bit integers, with its own memory; null where the device has no such kernel.
  virtual std::function<void()> int8_product(const ProductSize&) const { return {}; }
  virtual std::function<void()> int8_convolution(const ConvolutionSize&) const { return {}; }
};

}  // namespace ptrain
