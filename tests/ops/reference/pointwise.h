// The functions of ops/math/unary_math.h and ops/math/binary_math.h by their definitions, in double.
#pragma once

#include "core/ops/math/binary_math.h"
#include "core/ops/math/unary_math.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ptrain::testing {

/// A function of one number, and between which numbers it is tested: where it has a derivative, and a moderate one.
struct UnaryReference {
  double (*value)(double x, PointwiseConstants constants);
  double low, high;
  PointwiseConstants constants = {};
};

inline const std::map<UnaryFunction, UnaryReference>& unary_references() {
  using C = PointwiseConstants;
  static const std::map<UnaryFunction, UnaryReference> references{
      {UnaryFunction::abs, {[](double x, C) { return std::abs(x); }, -3, 3}},
      {UnaryFunction::affine, {[](double x, C c) { return c.a * x + c.b; }, -3, 3, {-1.5f, 0.75f}}},
      {UnaryFunction::clamp, {[](double x, C c) { return std::clamp<double>(x, c.a, c.b); }, -3, 3, {-1.5f, 1.25f}}},
      {UnaryFunction::exp, {[](double x, C) { return std::exp(x); }, -3, 3}},
      {UnaryFunction::log, {[](double x, C) { return std::log(x); }, 0.25, 9}},
      {UnaryFunction::log1p, {[](double x, C) { return std::log1p(x); }, -0.75, 9}},
      {UnaryFunction::neg, {[](double x, C) { return -x; }, -3, 3}},
      {UnaryFunction::power, {[](double x, C c) { return std::pow(x, c.a); }, 0.25, 3, {2.5f, 0}}},
      {UnaryFunction::reciprocal, {[](double x, C) { return 1 / x; }, 0.5, 4}},
      {UnaryFunction::rsqrt, {[](double x, C) { return 1 / std::sqrt(x); }, 0.5, 9}},
      {UnaryFunction::softplus, {[](double x, C) { return std::log1p(std::exp(x)); }, -9, 9}},
      {UnaryFunction::sqrt, {[](double x, C) { return std::sqrt(x); }, 0.25, 9}},
      {UnaryFunction::square, {[](double x, C) { return x * x; }, -3, 3}},
  };
  return references;
}

/// A function of two numbers; they are tested between 0.5 and 2.
inline const std::map<BinaryFunction, double (*)(double, double)>& binary_references() {
  static const std::map<BinaryFunction, double (*)(double, double)> references{
      {BinaryFunction::add, [](double a, double b) { return a + b; }},
      {BinaryFunction::div, [](double a, double b) { return a / b; }},
      {BinaryFunction::maximum, [](double a, double b) { return std::max(a, b); }},
      {BinaryFunction::minimum, [](double a, double b) { return std::min(a, b); }},
      {BinaryFunction::mul, [](double a, double b) { return a * b; }},
      {BinaryFunction::pow, [](double a, double b) { return std::pow(a, b); }},
      {BinaryFunction::sub, [](double a, double b) { return a - b; }},
  };
  return references;
}

}  // namespace ptrain::testing
