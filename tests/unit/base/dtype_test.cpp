// The two 16-bit formats against exact arithmetic in double, for every bit pattern.
#include "core/base/dtype.h"

#include "core/base/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ptrain {
namespace {

constexpr int patterns = 1 << 16;

/// A 16-bit float decoded by the definition of binary formats.
double decode(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const double sign = bits >> 15 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = bits & ((1u << mantissa_bits) - 1u);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(1.0 + std::ldexp(mantissa, -mantissa_bits), exponent - bias);
}

template <typename T>
T from_bits(int bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

template <typename T>
void check_every_pattern(int exponent_bits, int mantissa_bits) {
  for (int bits = 0; bits < patterns; ++bits) {
    const float value = from_bits<T>(bits);
    const double expected = decode(static_cast<std::uint32_t>(bits), exponent_bits, mantissa_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(value)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << bits;
    ASSERT_EQ(T(value).bits, bits) << "does not round trip";
  }
}

/// Between each two neighbours: the midpoint rounds to the even one, values beside it to the nearer one.
template <typename T>
void check_rounding(int exponent_bits, int mantissa_bits) {
  const int infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
  for (int sign = 0; sign <= 0x8000; sign += 0x8000) {
    for (int bits = 0; bits < infinity; ++bits) {
      const double low = decode(static_cast<std::uint32_t>(bits), exponent_bits, mantissa_bits);
      const bool top = bits + 1 == infinity;
      const double high = top ? low + (low - decode(static_cast<std::uint32_t>(bits - 1), exponent_bits, mantissa_bits))
                              : decode(static_cast<std::uint32_t>(bits + 1), exponent_bits, mantissa_bits);
      const auto middle = static_cast<float>((sign ? -1 : 1) * (low + high) / 2);
      const int even = bits % 2 == 0 ? bits : bits + 1;
      ASSERT_EQ(T(middle).bits, sign | even) << "tie above pattern " << bits;
      const float toward_zero = std::nextafter(middle, 0.0f);
      const float away = std::nextafter(middle, sign ? -INFINITY : INFINITY);
      ASSERT_EQ(T(toward_zero).bits, sign | bits) << "below the tie of " << bits;
      ASSERT_EQ(T(away).bits, sign | (bits + 1)) << "above the tie of " << bits;
    }
  }
}

TEST(Bf16, DecodesAndRoundTripsEveryPattern) { check_every_pattern<bf16>(8, 7); }
TEST(F16, DecodesAndRoundTripsEveryPattern) { check_every_pattern<f16>(5, 10); }
TEST(Bf16, RoundsToNearestTiesToEven) { check_rounding<bf16>(8, 7); }
TEST(F16, RoundsToNearestTiesToEven) { check_rounding<f16>(5, 10); }

TEST(F16, OverflowsToInfinityFromTheTieOn) {
  EXPECT_EQ(f16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(f16(-std::numeric_limits<float>::max()).bits, 0xfc00);
  EXPECT_EQ(f16(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
}

TEST(F16, UnderflowsToSignedZero) {
  EXPECT_EQ(f16(std::ldexp(1.0f, -25)).bits, 0x0000);  // a tie with 0, which is even
  EXPECT_EQ(f16(std::nextafter(std::ldexp(1.0f, -25), 1.0f)).bits, 0x0001);
  EXPECT_EQ(f16(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

TEST(Bf16, KeepsFloatSubnormalsAndNaNPayloadOfLowBits) {
  EXPECT_EQ(bf16(bits_to_float(0x00010000u)).bits, 0x0001);
  // All mantissa bits that survive truncation are zero: still a NaN, not infinity.
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(bits_to_float(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(bits_to_float(0xffffffffu)))));
}

TEST(DType, NamesRoundTripAndSizesHold) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8, DType::s8}) {
    EXPECT_EQ(dtype_from_name(to_string(dtype)), dtype);
  }
  EXPECT_EQ(element_size(DType::i64), 8u);
  EXPECT_EQ(element_size(DType::f16), 2u);
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i32));
  EXPECT_THROW(dtype_from_name("float32"), Error);
}

}  // namespace
}  // namespace ptrain
