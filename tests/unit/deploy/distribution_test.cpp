// What calibration makes of distributions whose best formats are known.
#include "core/deploy/quantization/distribution.h"

#include "core/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ptrain {
namespace {

using Method = CalibrationMethod;

/// Uniform in [low, high), in batches, so that later ones may widen the range.
void add_uniform(Distribution& distribution, float low, float high, std::size_t count = 100'000) {
  const RandomStream random{3, 0, 0};
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = low + (high - low) * random.uniform(i);
  EXPECT_TRUE(distribution.add(values));
}

TEST(Distribution, IsUnsignedWhereNothingIsNegative) {
  Distribution above, both;
  add_uniform(above, 0, 2);
  add_uniform(both, -1, 2);
  EXPECT_EQ(above.format(Method::minmax).dtype, DType::u8);
  EXPECT_NEAR(above.format(Method::minmax).scale, 2.0f / 255, 1e-6f);
  EXPECT_EQ(both.format(Method::minmax).dtype, DType::s8);
  EXPECT_NEAR(both.format(Method::minmax).scale, 2.0f / 127, 1e-6f);
}

TEST(Distribution, OfUniformValuesIsKeptWholeByEveryMethod) {
  Distribution uniform;
  add_uniform(uniform, 0, 1);
  for (const Method method : {Method::minmax, Method::percentile, Method::mse}) {
    EXPECT_NEAR(uniform.format(method).scale, 1.0f / 255, 0.02f / 255) << enum_name(method);
  }
}

TEST(Distribution, AnOutlierIsClippedByPercentileAndErrorAlone) {
  Distribution outlier;
  add_uniform(outlier, -1, 1);
  EXPECT_TRUE(outlier.add(std::vector<float>{30.0f}));
  EXPECT_NEAR(outlier.format(Method::minmax).scale, 30.0f / 127, 1e-5f);
  EXPECT_NEAR(outlier.format(Method::percentile).scale, 1.0f / 127, 0.02f / 127);
  const float mse = outlier.format(Method::mse).scale;
  EXPECT_LT(mse, 20.0f / 127);
  EXPECT_GT(mse, 1.0f / 127);
}

TEST(Distribution, LeastErrorIsThatOfALaplacianKnownFromTheory) {
  // For Laplace(0, b) in 8 bits the reach of least squared error is about 9.9 b (Banner et al., "Post Training 4-bit
  // Quantization of Convolutional Networks", 2019).
  Distribution laplace;
  std::vector<float> values;
  constexpr int count = 2'000'000;
  for (int i = 0; i < count; ++i) {
    const double part = (i + 0.5) / count;
    values.push_back(static_cast<float>(part < 0.5 ? std::log(2 * part) : -std::log(2 - 2 * part)));
  }
  EXPECT_TRUE(laplace.add(values));
  EXPECT_NEAR(laplace.format(Method::mse).scale * 127, 9.9, 0.6);
}

TEST(Distribution, ErrorIsThatOfRounding) {
  Distribution uniform;
  add_uniform(uniform, 0, 1);
  const double step = 1.0 / 255;
  EXPECT_NEAR(uniform.squared_error(1.0), step * step / 12, 1e-3 * step * step);
  EXPECT_NEAR(uniform.squared_error(0.5), 1.0 / 24, 1e-3) << "(x - 1/2)^2 over the upper half";
}

TEST(Distribution, WidensAsLargerValuesCome) {
  Distribution at_once, in_turn;
  add_uniform(at_once, 0, 1);
  add_uniform(at_once, 0, 37);
  add_uniform(in_turn, 0, 37);
  add_uniform(in_turn, 0, 1);
  EXPECT_NEAR(at_once.squared_error(37) / in_turn.squared_error(37), 1, 1e-3);
  for (const Method method : {Method::minmax, Method::percentile, Method::mse}) {
    EXPECT_NEAR(at_once.format(method).scale, in_turn.format(method).scale, 0.01f) << enum_name(method);
  }
}

TEST(Distribution, OfZerosHasAFormat) {
  Distribution zeros;
  EXPECT_TRUE(zeros.add(std::vector<float>(10)));
  for (const Method method : {Method::minmax, Method::percentile, Method::mse}) {
    EXPECT_EQ(zeros.format(method), (QuantizedFormat{DType::u8, 1.0f}));
  }
}

TEST(Distribution, RefusesWhatIsNotFinite) {
  Distribution distribution;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    EXPECT_FALSE(distribution.add(std::vector<float>{1, bad}));
  }
  EXPECT_EQ(distribution.format(Method::minmax), (QuantizedFormat{DType::u8, 1.0f})) << "nothing of it counted";
}

}  // namespace
}  // namespace ptrain
