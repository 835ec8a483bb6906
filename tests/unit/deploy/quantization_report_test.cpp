// What a quantization report says of answers before and after.
#include "core/deploy/quantization/report.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(McNemar, IsTheBinomialsTwoTails) {
  EXPECT_DOUBLE_EQ(mcnemar_p_value(0, 0), 1);
  EXPECT_DOUBLE_EQ(mcnemar_p_value(3, 3), 1);
  EXPECT_NEAR(mcnemar_p_value(0, 1), 1, 1e-12);
  EXPECT_NEAR(mcnemar_p_value(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(mcnemar_p_value(1, 9), 2 * (1 + 10) / 1024.0, 1e-12);
  EXPECT_EQ(mcnemar_p_value(2, 11), mcnemar_p_value(11, 2));
  EXPECT_LT(mcnemar_p_value(400, 600), 1e-9);
}

TEST(PairedAccuracy, CountsWhatWasLostAndWonOfKnownTruths) {
  const std::vector<float> before{1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0}, after{1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1};
  const std::vector<std::int32_t> truths{0, 0, 0, 0, -1, 0};
  const auto paired = pair_accuracy(before, after, truths, 2);
  ASSERT_TRUE(paired);
  EXPECT_EQ(paired->samples, 5);
  EXPECT_DOUBLE_EQ(paired->before, 0.6);
  EXPECT_DOUBLE_EQ(paired->after, 0.4);
  EXPECT_EQ(paired->lost, 2);
  EXPECT_EQ(paired->won, 1);
  EXPECT_FALSE(pair_accuracy(before, after, std::vector<std::int32_t>(6, -1), 2));
}

TEST(LogitError, IsRelativeToTheLogits) {
  const std::vector<float> before{3, 4, 0, 0}, after{3, 4, 1, 0};
  const LogitError error = compare_logits(before, after, 2);
  EXPECT_DOUBLE_EQ(error.relative, 0.2);
  EXPECT_DOUBLE_EQ(error.largest, 1);
  EXPECT_DOUBLE_EQ(error.agreement, 1);
  EXPECT_DOUBLE_EQ(compare_logits(after, std::vector<float>{4, 3, 1, 0}, 2).agreement, 0.5);
}

}  // namespace
}  // namespace ptrain
