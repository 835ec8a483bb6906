// Functions of one number and their derivatives: each has a row in the table and a functor. Both backends' kernels, the
// gradients and the tests use the table. Activations are in ops/activation.h.
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/exp.h"
#include "core/ops/math/log.h"

#include <array>
#include <cmath>

namespace ptrain {

/// Name, what the gradient is computed from, AMP class, number of constants.
#define PTRAIN_UNARY_FUNCTIONS(ROW) \
  ROW(abs, input, grey, 0)          \
  ROW(affine, nothing, grey, 2)     \
  ROW(clamp, input, grey, 2)        \
  ROW(exp, output, black, 0)        \
  ROW(log, input, black, 0)         \
  ROW(log1p, input, black, 0)       \
  ROW(neg, nothing, grey, 0)        \
  ROW(power, input, black, 1)       \
  ROW(reciprocal, output, black, 0) \
  ROW(rsqrt, output, black, 0)      \
  ROW(softplus, input, black, 0)    \
  ROW(sqrt, output, grey, 0)        \
  ROW(square, input, black, 0)

#define PTRAIN_ENUMERATOR(name, saved, amp, constants) name,
enum class UnaryFunction { PTRAIN_UNARY_FUNCTIONS(PTRAIN_ENUMERATOR) };
#undef PTRAIN_ENUMERATOR

/// What a function's gradient is computed from, besides the incoming gradient.
enum class UnarySaved { nothing, input, output };

struct UnaryTraits {
  UnaryFunction function;
  std::string_view type;  // of the op
  std::string_view grad_type;
  UnarySaved saved;
  AmpClass amp_class;
  int constants;  // of PointwiseConstants
};

/// All functions, in the order of the enumerators.
#define PTRAIN_TRAITS(name, saved, amp, constants) \
  UnaryTraits{UnaryFunction::name, #name, #name "_grad", UnarySaved::saved, AmpClass::amp, constants},
inline constexpr std::array unary_functions{PTRAIN_UNARY_FUNCTIONS(PTRAIN_TRAITS)};
#undef PTRAIN_TRAITS

/// The function's row of the table.
constexpr const UnaryTraits& get_traits(UnaryFunction function) {
  return unary_functions[static_cast<std::size_t>(function)];
}

/// Constants of some functions: affine a x + b, clamp to [a, b], power x^a.
struct PointwiseConstants {
  float a = 0;
  float b = 0;
};

/// value(x) of a function, and gradient(dy, saved): dy times the derivative.
template <UnaryFunction function>
struct UnaryMath;

/// The derivative at 0 is taken as 0.
template <>
struct UnaryMath<UnaryFunction::abs> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return fabsf(x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants) {
    return x < 0.0f ? -dy : (x > 0.0f ? dy : 0.0f);
  }
};

template <>
struct UnaryMath<UnaryFunction::affine> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants c) { return x * c.a + c.b; }
  PTRAIN_HD_INLINE static float gradient(float dy, float, PointwiseConstants c) { return dy * c.a; }
};

/// NaN stays NaN. At the ends the derivative is 1, as in PyTorch.
template <>
struct UnaryMath<UnaryFunction::clamp> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants c) { return x < c.a ? c.a : (x > c.b ? c.b : x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants c) {
    return ((x < c.a) | (x > c.b)) ? 0.0f : dy;
  }
};

template <>
struct UnaryMath<UnaryFunction::exp> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return fast_exp(x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float y, PointwiseConstants) { return dy * y; }
};

template <>
struct UnaryMath<UnaryFunction::log> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return fast_log(x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants) { return dy / x; }
};

template <>
struct UnaryMath<UnaryFunction::log1p> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return fast_log1p(x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants) { return dy / (1.0f + x); }
};

template <>
struct UnaryMath<UnaryFunction::neg> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return -x; }
  PTRAIN_HD_INLINE static float gradient(float dy, float, PointwiseConstants) { return -dy; }
};

template <>
struct UnaryMath<UnaryFunction::power> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants c) { return powf(x, c.a); }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants c) {
    return dy * c.a * powf(x, c.a - 1.0f);
  }
};

template <>
struct UnaryMath<UnaryFunction::reciprocal> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return 1.0f / x; }
  PTRAIN_HD_INLINE static float gradient(float dy, float y, PointwiseConstants) { return -dy * y * y; }
};

template <>
struct UnaryMath<UnaryFunction::rsqrt> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return 1.0f / sqrtf(x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float y, PointwiseConstants) { return -0.5f * dy * y * y * y; }
};

/// log(1 + e^x), with the correction of fast_log1p.
template <>
struct UnaryMath<UnaryFunction::softplus> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) {
    const float small = fast_exp(-fabsf(x)), sum = 1.0f + small;
    return (x < 0.0f ? 0.0f : x) + (normal_log(sum) + (small - (sum - 1.0f)) / sum);
  }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants) { return dy / (1.0f + fast_exp(-x)); }
};

template <>
struct UnaryMath<UnaryFunction::sqrt> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return sqrtf(x); }
  PTRAIN_HD_INLINE static float gradient(float dy, float y, PointwiseConstants) { return dy / (2.0f * y); }
};

template <>
struct UnaryMath<UnaryFunction::square> {
  PTRAIN_HD_INLINE static float value(float x, PointwiseConstants) { return x * x; }
  PTRAIN_HD_INLINE static float gradient(float dy, float x, PointwiseConstants) { return dy * (2.0f * x); }
};

/// Calls visit(UnaryMath<function>{}).
template <typename Visitor>
void visit_unary(UnaryFunction function, Visitor&& visit) {
#define PTRAIN_VISIT(name, saved, amp, constants) \
  if (function == UnaryFunction::name) visit(UnaryMath<UnaryFunction::name>{});
  PTRAIN_UNARY_FUNCTIONS(PTRAIN_VISIT)
#undef PTRAIN_VISIT
}

}  // namespace ptrain
