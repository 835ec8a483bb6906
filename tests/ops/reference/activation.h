// The activations as their papers define them, in double.
#pragma once

#include "core/ops/activation.h"

#include <algorithm>
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
    case Activation::relu6:
      return std::clamp(x, 0.0, 6.0);
    case Activation::hard_sigmoid:
      return std::clamp((x + 3) / 6, 0.0, 1.0);
    case Activation::hard_swish:
      return x * std::clamp((x + 3) / 6, 0.0, 1.0);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

/// What ActivationGrad saves of an activation at x.
inline double saved_reference(Activation activation, double x) {
  return get_traits(activation).saved == ActivationSaved::input ? x : activation_reference(activation, x);
}

/// The activation's derivative where `saved` was saved; differences of the function where that is its argument.
inline double derivative_reference(Activation activation, double saved) {
  constexpr double step = 1e-5;
  switch (activation) {
    case Activation::tanh:
      return 1 - saved * saved;
    case Activation::relu:
      return saved > 0 ? 1 : 0;
    case Activation::relu6:
      return saved > 0 && saved < 6 ? 1 : 0;
    case Activation::hard_sigmoid:
      return saved > 0 && saved < 1 ? 1.0 / 6 : 0;
    case Activation::sigmoid:
      return saved * (1 - saved);
    default:
      return (activation_reference(activation, saved + step) - activation_reference(activation, saved - step)) /
             (2 * step);
  }
}

}  // namespace ptrain::testing
