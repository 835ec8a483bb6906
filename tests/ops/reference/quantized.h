// Naive 8-bit layers in double precision: integers multiplied out, scales applied, rounded once.
#pragma once

#include "core/ops/quantization/quantized_conv2d.h"
#include "core/ops/quantization/quantized_linear.h"
#include "tests/ops/reference/activation.h"
#include "tests/ops/reference/conv2d.h"
#include "tests/ops/reference/linear.h"

#include <algorithm>

namespace ptrain::testing {

/// The integer that represents `value`.
inline double quantized_reference(const QuantizedFormat& format, double value) {
  const bool is_signed = format.dtype == DType::s8;
  return std::clamp(std::nearbyint(value / static_cast<double>(format.scale)), is_signed ? -128.0 : 0.0,
                    is_signed ? 127.0 : 255.0);
}

/// activation(sums * scales + bias + residual), in y's format where there is one. Channels are the last axis.
inline std::vector<double> finished_reference(std::vector<double> sums, const std::vector<HostTensor>& in,
                                              double x_scale, Activation activation,
                                              const std::vector<double>& residual,
                                              const std::optional<QuantizedFormat>& y) {
  const HostTensor &w_scale = in[2], &bias = in[3];
  const std::size_t channels = w_scale.values.size();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    double value = sums[i] * x_scale * w_scale.values[i % channels];
    if (!bias.absent) value += bias.values[i % channels];
    if (!residual.empty()) value += residual[i];
    value = activation_reference(activation, value);
    sums[i] = y ? quantized_reference(*y, value) : value;
  }
  return sums;
}

inline std::vector<double> quantized_linear_reference(const QuantizedLinearAttributes& attributes,
                                                      const std::vector<HostTensor>& in) {
  return finished_reference(linear_reference({in[0], in[1], absent_tensor()}, Activation::none)[0], in,
                            static_cast<double>(attributes.x.scale), attributes.activation, {}, attributes.y);
}

inline std::vector<double> quantized_conv2d_reference(const QuantizedConv2dAttributes& attributes,
                                                      const std::vector<HostTensor>& in) {
  std::vector<double> residual;
  if (in.size() > 4 && !in[4].absent) {
    for (const double value : in[4].values) {
      residual.push_back(value * (attributes.residual ? static_cast<double>(attributes.residual->scale) : 1.0));
    }
  }
  return finished_reference(reference_conv2d(attributes.conv, in[0], in[1]), in,
                            static_cast<double>(attributes.x.scale), attributes.activation, residual, attributes.y);
}

}  // namespace ptrain::testing
