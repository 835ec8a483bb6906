#include "core/ops/image/normalize_image.h"

#include "tests/ops/op_case.h"
#include "tests/ops/reference/normalize_image.h"

#include <gtest/gtest.h>

namespace ptrain::testing {
namespace normalize_image_test {

TEST(NormalizeImage, AgreesWithReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    // Of one image, and of five and two images side by side.
    for (const auto& [inputs_channels, channels] : {std::pair{3, 3}, {3, 4}, {15, 15}, {15, 16}, {6, 8}}) {
      NormalizeImage::Attributes attrs;
      attrs.channels = channels;
      attrs.dtype = dtype;
      std::vector<HostTensor> inputs{random_tensor(DType::u8, {2, 5, 3, inputs_channels}, 1, 0, 256)};
      const auto outputs = run_op(std::make_shared<NormalizeImage>(attrs), inputs);
      ASSERT_EQ(outputs[0].desc, (TensorDesc{dtype, {2, 5, 3, channels}}));
      expect_close(outputs[0].values, reference_normalize_image(attrs, inputs[0]), tolerance(dtype), "pixels");
    }
  }
}

TEST(NormalizeImage, RefusesGreyImages) {
  const std::vector<TensorDesc> grey{{DType::u8, {2, 5, 3, 1}}};
  EXPECT_THROW(NormalizeImage(NormalizeImage::Attributes{}).infer(grey), std::invalid_argument);
  const std::vector<TensorDesc> stacked{{DType::u8, {2, 5, 3, 15}}};
  EXPECT_THROW(NormalizeImage(NormalizeImage::Attributes{}).infer(stacked), std::invalid_argument);
}

}  // namespace normalize_image_test
}  // namespace ptrain::testing
