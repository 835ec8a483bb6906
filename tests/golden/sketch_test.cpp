// The hashed weights and batches are those of tests/golden/reference.py: the expected values were printed there.
#include "tests/golden/sketch.h"

#include <gtest/gtest.h>

namespace ptrain::golden {
namespace {

TEST(GoldenSketch, WeightsAreThoseOfTheReference) {
  EXPECT_EQ(Hash("fc.weight")(2), 0xbe57a78c055626adu);
  EXPECT_FLOAT_EQ(Hash("fc.weight").uniform(0), -0.03070843f);
  EXPECT_FLOAT_EQ(weight("layer1.0.conv1.weight", {2, 3, 1, 1})[1], 0.20707117021083832f);
  EXPECT_FLOAT_EQ(weight("x.bias", {2})[1], -0.09350346773862839f);
  EXPECT_FLOAT_EQ(weight("fc.weight", {2, 2})[3], 0.01604049652814865f);
}

TEST(GoldenSketch, BatchesAreThoseOfTheReference) {
  EXPECT_EQ(labels(1, 8, 10), (std::vector<std::int32_t>{6, 9, 1, 9, 8, 9, 8, 4}));
  const std::vector<std::uint8_t> pixels = images(1, 8, 64);
  const std::size_t at = ((2 * 64 + 9) * 64 + 17) * 3;
  EXPECT_EQ((std::vector<int>{pixels[at], pixels[at + 1], pixels[at + 2]}), (std::vector<int>{189, 176, 239}));

  const TextBatch batch = text(1, 8, 64, 30522);
  EXPECT_EQ(batch.lengths, (std::vector<std::int32_t>{62, 32, 55, 52, 59, 62, 32, 45}));
  EXPECT_EQ(batch.ids[2 * 64], 16404);
  EXPECT_EQ(batch.ids[2 * 64 + 3], 21262);
  EXPECT_EQ(batch.token_types[2 * 64 + 15], 0);
  EXPECT_EQ(batch.token_types[2 * 64 + 16], 1);
  EXPECT_EQ(batch.token_types[2 * 64 + 63], 0);  // padding
}

TEST(GoldenSketch, EstimatesTheDistanceOfTwoTensors) {
  const std::array<float, 3> counted{1, 2, 3};
  const auto sums = sketch("a", counted);
  EXPECT_EQ((std::array{sums[0], sums[1], sums[2], sums[3]}), (std::array{-2.0, 0.0, -4.0, 2.0}));

  std::vector<float> reference(10000);
  std::vector<float> off(10000);
  double norm = 0;
  double distance = 0;
  for (std::size_t i = 0; i < off.size(); ++i) {
    reference[i] = Hash("value").uniform(i);
    off[i] = reference[i] + 1e-3f * Hash("error").uniform(i);
    norm += static_cast<double>(reference[i]) * reference[i];
    distance += (off[i] - reference[i]) * static_cast<double>(off[i] - reference[i]);
  }
  const double actual = std::sqrt(distance / norm);
  const double estimate = relative_error(sketch("g", off), sketch("g", reference), std::sqrt(norm));
  EXPECT_GT(estimate, 0.5 * actual);
  EXPECT_LT(estimate, 1.5 * actual);
}

}  // namespace
}  // namespace ptrain::golden
