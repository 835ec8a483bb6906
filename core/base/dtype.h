// Element types and the two 16-bit float formats as storage types.
#pragma once

#include "core/base/host_device.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ptrain {

enum class DType : std::uint8_t { f32, bf16, f16, i64, i32, u8, s8 };

/// Bytes of one element, and the name in configurations, graphs and files.
std::size_t element_size(DType dtype);
std::string_view to_string(DType dtype);
/// Throws Error{usage} when `name` is none of f32, bf16, f16, i64, i32, u8, s8.
DType dtype_from_name(std::string_view name);
bool is_floating(DType dtype);
inline bool is_low_precision(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16; }

/// The bits of an IEEE 754 float, and the reverse.
PTRAIN_HD inline std::uint32_t float_to_bits(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
PTRAIN_HD inline float bits_to_float(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// bfloat16 in memory; arithmetic happens in float. Conversion rounds to nearest, ties to even; NaN stays NaN.
struct bf16 {
  std::uint16_t bits = 0;
  bf16() = default;
  PTRAIN_HD explicit bf16(float value) {
    const std::uint32_t u = float_to_bits(value);
    const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(nan ? ((u >> 16) | 0x40u) : rounded);
  }
  PTRAIN_HD operator float() const { return bits_to_float(static_cast<std::uint32_t>(bits) << 16); }
};

/// IEEE binary16 in memory; arithmetic happens in float.
struct f16 {
  std::uint16_t bits = 0;
  f16() = default;
  PTRAIN_HD explicit f16(float value) {
    const std::uint32_t u = float_to_bits(value);
    const std::uint32_t sign = (u >> 16) & 0x8000u;
    const std::uint32_t magnitude = u & 0x7fffffffu;
    std::uint32_t half;
    if (magnitude > 0x7f800000u) {
      half = 0x7e00u;  // NaN
    } else if (magnitude >= 0x477ff000u) {
      half = 0x7c00u;  // rounds to infinity
    } else if (magnitude < 0x38800000u) {
      // Subnormal: adding 0.5 leaves the rounded mantissa in the low bits.
      half = float_to_bits(bits_to_float(magnitude) + 0.5f) - 0x3f000000u;
    } else {
      const std::uint32_t odd = (magnitude >> 13) & 1u;
      half = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
    }
    bits = static_cast<std::uint16_t>(sign | half);
  }
  PTRAIN_HD operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude < 0x400u) {
      const float subnormal = static_cast<float>(magnitude) * 5.9604644775390625e-08f;  // 2^-24
      return bits_to_float(sign | float_to_bits(subnormal));
    }
    return bits_to_float(sign | ((magnitude << 13) + 0x38000000u));
  }
};

/// The dtype of a C++ storage type.
template <typename T>
inline constexpr DType dtype_of_type = DType::f32;
template <>
inline constexpr DType dtype_of_type<bf16> = DType::bf16;
template <>
inline constexpr DType dtype_of_type<f16> = DType::f16;
template <>
inline constexpr DType dtype_of_type<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of_type<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of_type<std::uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of_type<std::int8_t> = DType::s8;

/// Calls `visit(T{})` with the C++ storage type of a floating `dtype`.
template <typename Visitor>
auto visit_floating(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::bf16:
      return visit(bf16{});
    case DType::f16:
      return visit(f16{});
    default:
      return visit(float{});
  }
}

/// Calls visit(T{}) with the storage type of bf16 or f16.
template <typename Visitor>
auto visit_low_precision(DType dtype, Visitor&& visit) {
  return dtype == DType::f16 ? visit(f16{}) : visit(bf16{});
}

}  // namespace ptrain
