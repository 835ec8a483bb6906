// Activation functions and their derivatives, one element at a time.
#pragma once

#include "core/ops/activation.h"
#include "core/ops/math/exp.h"

#include <utility>

namespace ptrain {

/// The standard normal density and distribution at x. The tail is Abramowitz and Stegun 7.1.26, whose absolute error is
/// 1.5e-7, multiplied out to keep its relative accuracy far from zero.
struct Normal {
  float density;
  float distribution;
};

/// Density and distribution together, for GELU and its gradient.
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

/// tanh from exp of the magnitude; an odd polynomial keeps the relative accuracy of small arguments.
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

/// V is float, or a vector of floats for activations that norms fuse.
template <Activation kind, typename V>
PTRAIN_HD_INLINE V activate(V x) {
  if constexpr (kind == Activation::gelu_erf) {
    return x * standard_normal(x).distribution;
  } else if constexpr (kind == Activation::gelu_tanh) {
    return 0.5f * x * (1.0f + fast_tanh(gelu_tanh_c0 * (x + gelu_tanh_c1 * x * x * x)));
  } else if constexpr (kind == Activation::tanh) {
    return fast_tanh(x);
  } else if constexpr (kind == Activation::relu) {
    return x < 0.0f ? V{} : x;  // keeps NaN
  } else if constexpr (kind == Activation::relu6) {
    return x < 0.0f ? V{} : x > 6.0f ? V{} + 6.0f : x;  // keeps NaN
  } else if constexpr (kind == Activation::hard_sigmoid) {
    return activate<Activation::relu6>(x + 3.0f) * (1.0f / 6.0f);
  } else if constexpr (kind == Activation::hard_swish) {
    return x * activate<Activation::hard_sigmoid>(x);
  } else if constexpr (kind == Activation::sigmoid) {
    return 1.0f / (1.0f + fast_exp(-x));
  } else if constexpr (kind == Activation::silu) {
    return x * activate<Activation::sigmoid>(x);
  } else {
    static_assert(kind == Activation::none, "an activation without arithmetic");
    return x;
  }
}

/// dy times the derivative, from the value that the activation's traits save. Where a ReLU is closed it is zero for any
/// dy.
template <Activation kind, typename V>
PTRAIN_HD_INLINE V activation_gradient(V dy, V saved) {
  if constexpr (kind == Activation::gelu_erf) {
    const Normal normal = standard_normal(saved);
    return dy * (normal.distribution + saved * normal.density);
  } else if constexpr (kind == Activation::gelu_tanh) {
    const float square = saved * saved;
    const float t = fast_tanh(gelu_tanh_c0 * saved * (1.0f + gelu_tanh_c1 * square));
    const float inner = gelu_tanh_c0 * (1.0f + 3.0f * gelu_tanh_c1 * square);
    return dy * (0.5f * (1.0f + t) + 0.5f * saved * (1.0f - t * t) * inner);
  } else if constexpr (kind == Activation::tanh) {
    return dy * (1.0f - saved * saved);
  } else if constexpr (kind == Activation::relu) {
    return saved > 0.0f ? dy : V{};
  } else if constexpr (kind == Activation::relu6) {
    return ((saved > 0.0f) & (saved < 6.0f)) ? dy : V{};
  } else if constexpr (kind == Activation::hard_sigmoid) {
    return ((saved > 0.0f) & (saved < 1.0f)) ? dy * (1.0f / 6.0f) : V{};
  } else if constexpr (kind == Activation::hard_swish) {
    return saved < -3.0f ? V{} : saved > 3.0f ? dy : dy * (saved * (1.0f / 3.0f) + 0.5f);
  } else if constexpr (kind == Activation::sigmoid) {
    return dy * (saved * (1.0f - saved));
  } else if constexpr (kind == Activation::silu) {
    const V s = activate<Activation::sigmoid>(saved);
    return dy * (s * (1.0f + saved * (1.0f - s)));
  } else {
    static_assert(kind == Activation::none, "an activation without arithmetic");
    return dy;
  }
}

/// Above zero where the gate is open, from the activation's output.
template <Activation kind, typename V>
PTRAIN_HD_INLINE V gate_opening(V y) {
  static_assert(is_gate(kind));
  return activation_gradient<kind>(V{} + 1.0f, y);
}

/// Calls visit(std::integral_constant) with the activation as a compile-time constant.
template <typename Visitor, std::size_t... i>
void visit_activation(Activation activation, Visitor&& visit, std::index_sequence<i...>) {
  ((static_cast<std::size_t>(activation) == i ? visit(std::integral_constant<Activation, activations[i].activation>{})
                                              : void()),
   ...);
}
template <typename Visitor>
void visit_activation(Activation activation, Visitor&& visit) {
  visit_activation(activation, visit, std::make_index_sequence<activations.size()>{});
}
/// The same for activations that batch norms fuse.
template <typename Visitor>
void visit_norm_activation(Activation activation, Visitor&& visit) {
  visit_activation(activation, [&](auto kind) {
    if constexpr (get_traits(decltype(kind)::value).in_norms) visit(kind);
  });
}

}  // namespace ptrain
