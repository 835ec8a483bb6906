#include "models/vision/vision_transformer.h"

#include "tests/error_message.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(VisionTransformer, RefusesImagesThatPatchesDoNotDivide) {
  const std::string message = error_of([] { make_vit_b_16({.image_size = 40}); }, ExitCode::usage);
  EXPECT_EQ(message, "data.image_size: 40 px cannot be cut into patches of 16 px");
}

TEST(VisionTransformer, RefusesImagesThatItHasNoPositionsFor) {
  const auto model = make_vit_b_16({.image_size = 48});
  const std::string message = error_of(
      [&] {
        model->build(Bucket(2, {{extent_names::height, 32}, {extent_names::width, 32}}), Mode::training);
      },
      ExitCode::usage);
  EXPECT_NE(message.find("images of 48 px alone"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
