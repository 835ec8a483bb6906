// Functions of two numbers and their derivatives, the counterpart of unary_math.h.
#pragma once

#include "core/graph/op.h"

#include <array>
#include <cmath>

namespace ptrain {

/// Name, what an operand's gradient is computed from, AMP class.
#define PTRAIN_BINARY_FUNCTIONS(ROW) \
  ROW(add, nothing, grey)            \
  ROW(div, operands, grey)           \
  ROW(maximum, operands, grey)       \
  ROW(minimum, operands, grey)       \
  ROW(mul, other_operand, grey)      \
  ROW(pow, operands, black)          \
  ROW(sub, nothing, grey)

#define PTRAIN_ENUMERATOR(name, saved, amp) name,
enum class BinaryFunction { PTRAIN_BINARY_FUNCTIONS(PTRAIN_ENUMERATOR) };
#undef PTRAIN_ENUMERATOR

/// What the gradient of one operand is computed from, besides the incoming gradient.
enum class BinarySaved { nothing, other_operand, operands };

struct BinaryTraits {
  BinaryFunction function;
  std::string_view type;  // of the op
  std::string_view grad_type;
  BinarySaved saved;
  AmpClass amp_class;
};

/// All functions, in the order of the enumerators. The op named "add" is separate: it takes equal shapes only, and
/// passes fuse it.
#define PTRAIN_TRAITS(name, saved, amp)                                                                      \
  BinaryTraits{BinaryFunction::name, "elementwise_" #name, "elementwise_" #name "_grad", BinarySaved::saved, \
               AmpClass::amp},
inline constexpr std::array binary_functions{PTRAIN_BINARY_FUNCTIONS(PTRAIN_TRAITS)};
#undef PTRAIN_TRAITS

/// The function's row of the table.
constexpr const BinaryTraits& get_traits(BinaryFunction function) {
  return binary_functions[static_cast<std::size_t>(function)];
}

/// value(a, b) of a function, and gradient_a(dy, a, b) and gradient_b(dy, a, b): dy times the derivative by each.
template <BinaryFunction function>
struct BinaryMath;

template <>
struct BinaryMath<BinaryFunction::add> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return a + b; }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float, float) { return dy; }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float, float) { return dy; }
};

template <>
struct BinaryMath<BinaryFunction::div> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return a / b; }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float, float b) { return dy / b; }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float a, float b) { return -dy * (a / b) / b; }
};

/// NaN in either is NaN. Equal operands get half the gradient each, as in PyTorch.
template <>
struct BinaryMath<BinaryFunction::maximum> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return ((a > b) | (a != a)) ? a : b; }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float a, float b) {
    return a > b ? dy : (a == b ? 0.5f * dy : 0.0f);
  }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float a, float b) { return gradient_a(dy, b, a); }
};

/// As maximum.
template <>
struct BinaryMath<BinaryFunction::minimum> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float a, float b) {
    return a < b ? dy : (a == b ? 0.5f * dy : 0.0f);
  }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float a, float b) { return gradient_a(dy, b, a); }
};

template <>
struct BinaryMath<BinaryFunction::mul> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return a * b; }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float, float b) { return dy * b; }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float a, float) { return dy * a; }
};

template <>
struct BinaryMath<BinaryFunction::pow> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return powf(a, b); }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float a, float b) { return dy * b * powf(a, b - 1.0f); }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float a, float b) {
    return a == 0.0f ? 0.0f : dy * powf(a, b) * logf(a);
  }
};

template <>
struct BinaryMath<BinaryFunction::sub> {
  PTRAIN_HD_INLINE static float value(float a, float b) { return a - b; }
  PTRAIN_HD_INLINE static float gradient_a(float dy, float, float) { return dy; }
  PTRAIN_HD_INLINE static float gradient_b(float dy, float, float) { return -dy; }
};

/// Calls visit(BinaryMath<function>{}).
template <typename Visitor>
void visit_binary(BinaryFunction function, Visitor&& visit) {
#define PTRAIN_VISIT(name, saved, amp) \
  if (function == BinaryFunction::name) visit(BinaryMath<BinaryFunction::name>{});
  PTRAIN_BINARY_FUNCTIONS(PTRAIN_VISIT)
#undef PTRAIN_VISIT
}

}  // namespace ptrain
