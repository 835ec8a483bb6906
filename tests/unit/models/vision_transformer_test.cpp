#include "models/vision/vision_transformer.h"

#include "tests/error_message.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(VisionTransformer, RefusesImagesThatPatchesDoNotDivide) {
  const std::string message = get_error([] { make_vit_b_16({.image_size = 40}); }, ExitCode::usage);
  EXPECT_EQ(message, "data.image_size: 40 px cannot be divided into patches of 16 px");
  EXPECT_EQ(get_error(
                [] {
                  make_deit_small({.image_size = {96, 40}});
                },
                ExitCode::usage),
            "data.image_size: 96x40 px cannot be divided into patches of 16 px");
}

TEST(VisionTransformer, HasAPositionForEachPatchOfAnImage) {
  const auto model = make_deit_small({.image_size = {96, 64}});
  EXPECT_NE(model->signature().find("image_size=96x64"), std::string::npos) << model->signature();
  for (const ModelVariable& variable : model->variables()) {
    EXPECT_TRUE(variable.name != "pos_embed" || variable.shape == (Shape{6 * 4 + 1, 384}));
  }
}

TEST(VisionTransformer, RefusesImagesThatItHasNoPositionsFor) {
  const auto model = make_vit_b_16({.image_size = 48});
  const std::string message = get_error(
      [&] {
        model->build(Bucket(2, {{extent_names::height, 32}, {extent_names::width, 32}}), Mode::training);
      },
      ExitCode::usage);
  EXPECT_NE(message.find("only images of 48 px"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
