// Synthetic images of shapes: the same ones with masks and with boxes.
#include "core/data/boxes/annotated_images.h"
#include "core/data/factory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain {
namespace {

constexpr int shapes_side = 64;

std::unique_ptr<Dataset> open_shapes(std::vector<std::string> targets, int classes) {
  DataSettings settings{.source = "synthetic", .image_size = shapes_side, .classes = classes, .synthetic_samples = 8};
  settings.targets = std::move(targets);
  return open_dataset(settings, Split::train);
}

TEST(SyntheticShapes, HaveBoxesAroundTheirMasks) {
  const auto masked = open_shapes({tensor_names::masks}, 4), boxed = open_shapes({tensor_names::annotations}, 3);
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

TEST(SyntheticShapes, HaveMasksOfTheirOwn) {
  const auto all = open_shapes({tensor_names::masks}, 4);
  const auto each = open_shapes({tensor_names::annotations, tensor_names::object_masks}, 3);
  for (std::int64_t index = 0; index < 8; ++index) {
    const Batch with_mask = load_sample(*all, index, SampleRandom(0, 0, index));
    const Batch with_objects = load_sample(*each, index, SampleRandom(0, 0, index));
    std::vector<std::int32_t> drawn(shapes_side * shapes_side);
    for (const AnnotatedObject& one : read_objects(with_objects.at(tensor_names::annotations).row<std::int64_t>(0))) {
      const RunLengths mask =
          read_mask(one, with_objects.at(tensor_names::object_masks).row<std::int32_t>(0), {shapes_side, shapes_side});
      EXPECT_EQ(static_cast<double>(mask.area()), one.area);
      std::size_t pixel = 0;
      for (std::size_t run = 0; run < mask.counts.size(); ++run) {
        for (std::int64_t i = 0; i < mask.counts[run]; ++i, ++pixel) {
          if (run % 2 == 1) drawn.at(pixel % shapes_side * shapes_side + pixel / shapes_side) = 1 + one.label;
        }
      }
    }
    EXPECT_EQ(drawn, get_values<std::int32_t>(with_mask, tensor_names::masks));
  }
}

}  // namespace
}  // namespace ptrain
