// What the tests of 8-bit ops share: integers to compute with, and how exact results must be.
#pragma once

#include "core/ops/quantization/quantized_format.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

namespace ptrain::testing {

/// Skips what computes in 8 bits where the backend does not.
class InEightBits : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::unique_ptr<Backend> backend = make_test_backend();
    if (backend->kernels().int8_arithmetic() == Int8Arithmetic::none)
      GTEST_SKIP() << backend->library() << " has no 8-bit layers";
  }
};

/// Integers over the dtype's whole range.
inline HostTensor random_integers(DType dtype, Shape shape, std::uint64_t seed) {
  return dtype == DType::u8 ? random_tensor(dtype, std::move(shape), seed, 0, 256)
                            : random_tensor(dtype, std::move(shape), seed, -128, 128);
}

/// Weights as large as the backend multiplies without saturating. Where it saturates, oneDNN halves those that meet s8
/// data too, so that they are even.
inline HostTensor random_weights(Shape shape, std::uint64_t seed) {
  const bool exact = make_test_backend()->kernels().int8_arithmetic() == Int8Arithmetic::exact;
  HostTensor weights = random_tensor(DType::s8, std::move(shape), seed, exact ? -127 : -32, exact ? 128 : 33);
  for (double& weight : weights.values) weight *= exact ? 1 : 2;
  return weights;
}

/// Real values within rounding of sums in fp32. Integers are the same except where the real value is halfway between
/// two: those one apart are few.
inline void expect_quantized(const HostTensor& actual, const std::vector<double>& expected) {
  if (!is_int8(actual.desc.dtype)) return expect_close(actual.values, expected, 1e-5, "result");
  ASSERT_EQ(actual.values.size(), expected.size());
  std::size_t apart = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(actual.values[i] - expected[i]);
    ASSERT_LE(difference, 1) << "element " << i << " is " << actual.values[i] << ", expected " << expected[i];
    apart += difference > 0 ? 1 : 0;
  }
  EXPECT_LE(static_cast<double>(apart), 0.005 * static_cast<double>(expected.size()));
}

/// Both ways of choosing a kernel, weights packed once or at each run.
inline std::vector<TestBackend> kernel_choices() {
  TestBackend searched, packed;
  searched.options.kernels.exhaustive_search = true;
  packed.options.kernels.exhaustive_search = false;
  packed.options.kernels.constant_weights = true;
  return {searched, packed};
}

}  // namespace ptrain::testing
