#include "core/ops/quantization/quantize.h"

#include "tests/ops/cpu_only/quantized_case.h"
#include "tests/ops/reference/quantized.h"

namespace ptrain::testing {
namespace quantize_test {

TEST(Quantize, RoundsToEvenAndSaturates) {
  std::vector<HostTensor> x{tensor(DType::f32, Shape{8}, {-1000, -1, -0.75, 0.25, 0.75, 1.25, 63.7, 1000})};
  EXPECT_EQ(run_op(std::make_shared<Quantize>(QuantizedFormat{DType::s8, 0.5f}), x)[0].values,
            (std::vector<double>{-128, -2, -2, 0, 2, 2, 127, 127}));
  EXPECT_EQ(run_op(std::make_shared<Quantize>(QuantizedFormat{DType::u8, 0.5f}), x)[0].values,
            (std::vector<double>{0, 0, 0, 0, 2, 2, 127, 255}));
}

TEST(Quantize, MatchesTheReferenceOfEveryPrecision) {
  for (const DType from : {DType::f32, DType::bf16, DType::f16}) {
    for (const DType to : {DType::u8, DType::s8}) {
      const QuantizedFormat format{to, 0.013f};
      std::vector<HostTensor> x{random_tensor(from, Shape{3, 7, 1000}, 5, -3, 4)};
      std::vector<double> expected;
      for (const double value : x[0].values) expected.push_back(quantized_reference(format, value));
      expect_quantized(run_op(std::make_shared<Quantize>(format), x)[0], expected);
    }
  }
}

TEST(Dequantize, MultipliesByTheScale) {
  for (const DType dtype : {DType::u8, DType::s8}) {
    std::vector<HostTensor> x{random_integers(dtype, Shape{20'000}, 6)};
    std::vector<double> expected;
    for (const double value : x[0].values) expected.push_back(value * 0.25);
    EXPECT_EQ(run_op(std::make_shared<Dequantize>(QuantizedFormat{dtype, 0.25f}), x)[0].values, expected);
  }
}

TEST(Quantize, RefusesWhatIsNoFormat) {
  const std::vector<TensorDesc> real{{DType::f32, Shape{4}}}, integers{{DType::u8, Shape{4}}};
  EXPECT_THROW(Quantize({DType::i32, 1.0f}).infer(real), std::invalid_argument);
  EXPECT_THROW(Quantize({DType::u8, -1.0f}).infer(real), std::invalid_argument);
  EXPECT_THROW(Quantize({DType::u8, INFINITY}).infer(real), std::invalid_argument);
  EXPECT_THROW(Quantize({DType::u8, 1.0f}).infer(integers), std::invalid_argument);
  EXPECT_THROW(Dequantize({DType::s8, 1.0f}).infer(integers), std::invalid_argument);
}

}  // namespace quantize_test
}  // namespace ptrain::testing
