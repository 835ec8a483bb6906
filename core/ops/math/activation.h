// Activation functions and their derivatives, one element at a time.
#pragma once

#include "core/ops/activation.h"
#include "core/ops/math/exp.h"

namespace ptrain {

/// The standard normal density and distribution at x. The tail is Abramowitz and Stegun 7.1.26, whose absolute error
/// is 1.5e-7, multiplied out so that it keeps its relative accuracy far from zero.
struct Normal {
  float density;
  float distribution;
};

PTRAIN_HD_INLINE Normal standard_normal(float x) {
  const float magnitude = x < 0 ? -x : x;
  const float e = fast_exp(-0.5f * x * x);
  const float t = 1.0f / (1.0f + 0.3275911f * 0.70710678118654752f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 0.5f * p * t * e;
  return {e * 0.39894228040143268f, x < 0 ? tail : 1.0f - tail};
}

/// tanh by exp of the magnitude; small arguments keep their relative accuracy by an odd polynomial.
PTRAIN_HD_INLINE float fast_tanh(float x) {
  const float magnitude = x < 0 ? -x : x;
  const float e = fast_exp(-2.0f * magnitude);
  const float large = (1.0f - e) / (1.0f + e);
  const float s = x * x;
  const float small =
      magnitude * (1.0f + s * (-0.33333333f + s * (0.13333333f + s * (-0.05396825f + s * 0.02186949f))));
  const float result = magnitude < 0.25f ? small : large;
  return x < 0 ? -result : result;
}

/// The argument of gelu_tanh's tanh is c0 (x + c1 x^3).
inline constexpr float gelu_tanh_c0 = 0.79788456080286536f;
inline constexpr float gelu_tanh_c1 = 0.044715f;

template <Activation kind>
PTRAIN_HD_INLINE float activate(float x) {
  if constexpr (kind == Activation::gelu_erf) return x * standard_normal(x).distribution;
  if constexpr (kind == Activation::gelu_tanh) {
    return 0.5f * x * (1.0f + fast_tanh(gelu_tanh_c0 * (x + gelu_tanh_c1 * x * x * x)));
  }
  if constexpr (kind == Activation::tanh) return fast_tanh(x);
  if constexpr (kind == Activation::relu) return x > 0 ? x : 0.0f;
  return x;
}

/// The derivative, from what ActivationGrad saves: x for the gelus, y for tanh and relu.
template <Activation kind>
PTRAIN_HD_INLINE float activation_derivative(float saved) {
  if constexpr (kind == Activation::gelu_erf) {
    const Normal normal = standard_normal(saved);
    return normal.distribution + saved * normal.density;
  }
  if constexpr (kind == Activation::gelu_tanh) {
    const float square = saved * saved;
    const float t = fast_tanh(gelu_tanh_c0 * saved * (1.0f + gelu_tanh_c1 * square));
    const float inner = gelu_tanh_c0 * (1.0f + 3.0f * gelu_tanh_c1 * square);
    return 0.5f * (1.0f + t) + 0.5f * saved * (1.0f - t * t) * inner;
  }
  if constexpr (kind == Activation::tanh) return 1.0f - saved * saved;
  if constexpr (kind == Activation::relu) return saved > 0 ? 1.0f : 0.0f;
  return 1.0f;
}

/// Calls visit(std::integral_constant) with the activation as a compile-time constant.
template <typename Visitor>
auto visit_activation(Activation activation, Visitor&& visit) {
  switch (activation) {
    case Activation::gelu_erf:
      return visit(std::integral_constant<Activation, Activation::gelu_erf>{});
    case Activation::gelu_tanh:
      return visit(std::integral_constant<Activation, Activation::gelu_tanh>{});
    case Activation::tanh:
      return visit(std::integral_constant<Activation, Activation::tanh>{});
    case Activation::relu:
      return visit(std::integral_constant<Activation, Activation::relu>{});
    default:
      return visit(std::integral_constant<Activation, Activation::none>{});
  }
}

}  // namespace ptrain
