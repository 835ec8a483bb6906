#include "core/ops/detection/mask_targets.h"

#include "core/ops/math/placed_mask.h"
#include "tests/ops/op_case.h"
#include "tests/ops/reference/roi_align.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace mask_targets_test {

using Values = std::vector<double>;

constexpr std::int64_t objects = 3, most_runs = 400;

struct Placement {
  int width, height, placed_width, placed_height, mirrored;
};

/// Masks of an image, row by row, with any number of runs: blobs of random rows and columns.
struct Masks {
  Placement placement;
  std::vector<Values> pixels;

  Masks(const Placement& p, std::uint64_t seed) : placement(p) {
    for (std::int64_t object = 0; object < objects; ++object) {
      const HostTensor noise =
          random_tensor(DType::f32, Shape{p.height, p.width}, seed + static_cast<std::uint64_t>(object), 0, 1);
      Values mask;
      for (int y = 0; y < p.height; ++y)
        for (int x = 0; x < p.width; ++x)
          mask.push_back(noise.values[static_cast<std::size_t>(y * p.width + x)] > 0.2 && (x + y) % 9 > 2 ? 1 : 0);
      pixels.push_back(mask);
    }
  }
  /// Columns of runs, as ends.
  void encode(Values& ranges, Values& runs) const {
    double first = 0;
    for (const Values& mask : pixels) {
      Values ends;
      double current = 0, pixel = 0;
      for (int x = 0; x < placement.width; ++x)
        for (int y = 0; y < placement.height; ++y, ++pixel) {
          const double value = mask[static_cast<std::size_t>(y * placement.width + x)];
          if (value != current) ends.push_back(pixel);
          current = value;
        }
      ends.push_back(pixel);
      ranges.insert(ranges.end(), {first, static_cast<double>(ends.size())});
      first += static_cast<double>(ends.size());
      runs.insert(runs.end(), ends.begin(), ends.end());
    }
    ASSERT_LE(first, most_runs);
    runs.resize(runs.size() + static_cast<std::size_t>(most_runs - static_cast<std::int64_t>(first)), -1);
  }
  /// The object's resized mask [1,H,W,1].
  HostTensor resize(std::size_t object) const {
    const Placement& p = placement;
    HostTensor map{{DType::f32, Shape{1, p.placed_height, p.placed_width, 1}}, {}};
    for (int y = 0; y < p.placed_height; ++y)
      for (int x = 0; x < p.placed_width; ++x) {
        const int row = y * p.height / p.placed_height, column = x * p.width / p.placed_width;
        map.values.push_back(pixels[object][static_cast<std::size_t>(
            row * p.width + (p.mirrored != 0 ? p.width - 1 - column : column))]);
      }
    return map;
  }
};

/// As many samples as pixels of a bin: the side of the box decides, alike on both axes.
TEST(MaskTargets, MatchesRoiAlignOfResizedMasks) {
  const std::vector<Masks> images{{{12, 10, 24, 20, 0}, 1}, {{15, 8, 10, 6, 1}, 20}};
  const Values sides{4, 9, 13, 19.5, 24};
  constexpr std::int32_t bins = 4;
  const auto count = static_cast<std::int64_t>(sides.size()) + 1;
  Values boxes, matches, ranges, runs, placements, expected;
  for (const Masks& image : images) {
    image.encode(ranges, runs);
    const Placement& p = image.placement;
    placements.insert(placements.end(), {double(p.width), double(p.height), double(p.placed_width),
                                         double(p.placed_height), double(p.mirrored)});
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const Values box{-1.5 + static_cast<double>(i), 0.25, -1.5 + static_cast<double>(i) + sides[i], 0.25 + sides[i]};
      boxes.insert(boxes.end(), box.begin(), box.end());
      matches.push_back(static_cast<double>(i % objects));
      const auto samples = static_cast<std::int32_t>(std::ceil(sides[i] / bins));
      const Values target =
          reference_roi_align({{1, 1}, bins, samples}, {tensor(DType::f32, {1, 1, 4}, box), image.resize(i % objects)});
      expected.insert(expected.end(), target.begin(), target.end());
    }
    boxes.insert(boxes.end(), {1, 1, 5, 5});
    matches.push_back(-1);
    expected.insert(expected.end(), bins * bins, 0);
  }
  check_op({.op = std::make_shared<MaskTargets>(MaskTargetsAttributes{bins}),
            .inputs = {tensor(DType::f32, {2, count, 4}, boxes), tensor(DType::i32, {2, count}, matches),
                       tensor(DType::i32, {2, objects, 2}, ranges), tensor(DType::i32, {2, most_runs}, runs),
                       tensor(DType::f32, {2, 5}, placements)},
            .reference = [expected](const auto&) { return std::vector<Values>{expected}; }});
}

TEST(MaskTargets, FindsRunsOfNoPixels) {
  const std::vector<std::int32_t> ends{0, 2, 2, 3, 6};  // 1 1, 1, 0 0 0 as columns of two pixels
  const std::array placement{3.0f, 2.0f, 3.0f, 2.0f, 0.0f};
  const PlacedMask mask(placement.data(), ends.data(), static_cast<std::int32_t>(ends.size()));
  EXPECT_TRUE(mask.at(0, 0));
  EXPECT_TRUE(mask.at(1, 0));
  EXPECT_TRUE(mask.at(0, 1));
  EXPECT_FALSE(mask.at(1, 1));
  EXPECT_FALSE(mask.at(1, 2));
}

}  // namespace mask_targets_test
}  // namespace ptrain::testing
