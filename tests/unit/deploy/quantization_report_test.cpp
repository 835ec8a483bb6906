// What a quantization report says of answers before and after.
#include "core/deploy/quantization/quantize_report.h"

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

/// Answers to images of class "a" or, where `known` says 0, of none that is known, by rows of two logits.
Answers get_answers(const std::vector<float>& logits, const std::string& known) {
  Answers answers{logits, {}};
  for (std::size_t row = 0; row < known.size(); ++row) {
    Prediction& one = answers.predictions.emplace_back();
    one.answer = logits[2 * row] >= logits[2 * row + 1] ? "a" : "b";
    one.probability = 0.5;
    if (known[row] != '0') one.label = "a";
  }
  return answers;
}

TEST(PairedAccuracy, CountsWhatWasLostAndWonOfKnownTruths) {
  const std::vector<float> before{1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0}, after{1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1};
  const auto paired = pair_accuracy(get_answers(before, "111101"), get_answers(after, "111101"));
  ASSERT_TRUE(paired);
  EXPECT_EQ(paired->samples, 5);
  EXPECT_DOUBLE_EQ(paired->before, 0.6);
  EXPECT_DOUBLE_EQ(paired->after, 0.4);
  EXPECT_EQ(paired->lost, 2);
  EXPECT_EQ(paired->won, 1);
  EXPECT_FALSE(pair_accuracy(get_answers(before, "000000"), get_answers(after, "000000")));
}

TEST(PairedAccuracy, IsOfClassesAlone) {
  Answers values = get_answers({1, 0}, "1");
  values.predictions[0].probability.reset();
  EXPECT_FALSE(pair_accuracy(values, values));
}

TEST(LogitError, IsRelativeToTheLogits) {
  const Answers before = get_answers({3, 4, 0, 0}, "11"), after = get_answers({3, 4, 1, 0}, "11");
  const LogitError error = compare_logits(before, after);
  EXPECT_DOUBLE_EQ(error.relative, 0.2);
  EXPECT_DOUBLE_EQ(error.largest, 1);
  EXPECT_EQ(error.agreement, 1);
  EXPECT_EQ(compare_logits(after, get_answers({4, 3, 1, 0}, "11")).agreement, 0.5);
}

TEST(LogitError, HasNoAgreementWithoutClasses) {
  Answers maps = get_answers({1, 0}, "1");
  maps.predictions[0].probability.reset();
  EXPECT_FALSE(compare_logits(maps, maps).agreement);
}

}  // namespace
}  // namespace ptrain
