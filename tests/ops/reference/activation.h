// The activations as their papers define them, in double.
#pragma once

#include "core/ops/activation.h"

#include <cmath>
#include <numbers>

namespace ptrain::testing {

inline double activation_reference(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu_erf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::none:
      break;
  }
  return x;
}

}  // namespace ptrain::testing
