// Synthetic images of shapes: the same ones with masks and with boxes.
#include "core/data/boxes/annotated_images.h"
#include "core/data/factory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

constexpr int shapes_side = 64;

std::unique_ptr<Dataset> open_shapes(const char* target, int classes) {
  DataSettings settings{.source = "synthetic", .image_size = shapes_side, .classes = classes, .synthetic_samples = 8};
  settings.targets = {target};
  return open_dataset(settings, Split::train);
}

TEST(SyntheticShapes, HaveBoxesAroundTheirMasks) {
  const auto masked = open_shapes(tensor_names::masks, 4), boxed = open_shapes(tensor_names::annotations, 3);
  for (std::int64_t index = 0; index < 8; ++index) {
    const Batch with_mask = load_sample(*masked, index, SampleRandom(0, 0, index));
    const Batch with_boxes = load_sample(*boxed, index, SampleRandom(0, 0, index));
    EXPECT_EQ(get_values<std::uint8_t>(with_mask, tensor_names::images),
              get_values<std::uint8_t>(with_boxes, tensor_names::images));
    std::vector<std::int32_t> mask = get_values<std::int32_t>(with_mask, tensor_names::masks);
    const auto objects = read_objects(with_boxes.at(tensor_names::annotations).row<std::int64_t>(0));
    EXPECT_GE(objects.size(), 1U);
    for (const AnnotatedObject& one : objects) {
      ASSERT_TRUE(is_learnable(one, shapes_side, shapes_side));
      const auto left = static_cast<int>(one.box[0]), top = static_cast<int>(one.box[1]);
      const auto width = static_cast<int>(one.box[2]), height = static_cast<int>(one.box[3]);
      int inside = 0;
      for (int y = top; y < top + height; ++y) {
        for (int x = left; x < left + width; ++x) {
          std::int32_t& label = mask.at(static_cast<std::size_t>(y * shapes_side + x));
          if (label == 0) continue;
          EXPECT_EQ(label, 1 + one.label);
          label = 0;
          ++inside;
        }
      }
      EXPECT_GT(inside, width * height * 4 / 10) << "a triangle fills half of its square";
    }
    EXPECT_EQ(std::ranges::count(mask, 0), shapes_side * shapes_side) << "nothing lies outside boxes";
  }
}

}  // namespace
}  // namespace ptrain
