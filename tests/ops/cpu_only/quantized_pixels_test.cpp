#include "core/ops/image/normalize_image.h"

#include "tests/ops/cpu_only/quantized_case.h"
#include "tests/ops/reference/normalize_image.h"
#include "tests/ops/reference/quantized.h"

namespace ptrain::testing {
namespace quantized_pixels_test {

class QuantizedPixels : public InEightBits {};

TEST_F(QuantizedPixels, AreTheNormalizedOnesRounded) {
  for (const DType dtype : {DType::u8, DType::s8}) {
    for (const auto& [inputs_channels, channels] : {std::pair{3, 3}, {3, 4}, {6, 8}}) {
      NormalizeImage::Attributes attrs;
      attrs.channels = channels;
      attrs.dtype = dtype;
      attrs.format = QuantizedFormat{dtype, 0.0125f};
      std::vector<HostTensor> inputs{random_tensor(DType::u8, {2, 5, 3, inputs_channels}, 1, 0, 256)};
      const auto outputs = run_op(std::make_shared<NormalizeImage>(attrs), inputs);
      ASSERT_EQ(outputs[0].desc, (TensorDesc{dtype, {2, 5, 3, channels}}));
      std::vector<double> expected = reference_normalize_image(attrs, inputs[0]);
      for (double& value : expected) value = quantized_reference(*attrs.format, value);
      expect_quantized(outputs[0], expected);
    }
  }
}

TEST(NormalizeImage, RefusesAFormatOfAnotherType) {
  NormalizeImage::Attributes attrs;
  attrs.format = QuantizedFormat{DType::s8, 0.1f};
  const std::vector<TensorDesc> pixels{{DType::u8, {2, 5, 3, 3}}};
  EXPECT_THROW(NormalizeImage(attrs).infer(pixels), std::invalid_argument);
}

}  // namespace quantized_pixels_test
}  // namespace ptrain::testing
