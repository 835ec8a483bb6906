// The area under the ROC curve of scores that fit into memory and of scores that do not.
#include "core/tasks/classification/area_under_curve.h"

#include "core/base/rng.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace ptrain {
namespace {

struct ScoredSample {
  double score;
  bool positive;
};

/// Scores with ties, zeros of both signs and infinities, of which the larger ones are more often positive.
std::vector<ScoredSample> draw_scores(std::uint32_t count) {
  const RandomStream stream{7, 0, 0};
  std::vector<ScoredSample> samples;
  for (std::uint64_t i = 0; i < count; ++i) {
    const float score = std::log(stream.uniform(3 * i)) + 1;  // -infinity where the number is 0
    const float rounded = stream.uniform(3 * i + 1) < 0.5f ? std::round(score) : score;
    samples.push_back({rounded, stream.uniform(3 * i + 2) < 1 / (1 + std::exp(-score))});
  }
  samples.push_back({-INFINITY, false});
  samples.push_back({INFINITY, true});
  return samples;
}

/// The definition: a positive's chance of a higher score than a negative's, by all pairs.
double compare_all_pairs(const std::vector<ScoredSample>& samples) {
  double won = 0, pairs = 0;
  for (const ScoredSample& positive : samples) {
    for (const ScoredSample& negative : samples) {
      if (!positive.positive || negative.positive) continue;
      won += positive.score > negative.score ? 1 : positive.score == negative.score ? 0.5 : 0;
      pairs += 1;
    }
  }
  return won / pairs;
}

void add_all(AreaUnderCurve& area, const std::vector<ScoredSample>& samples) {
  for (const ScoredSample& one : samples) area.add(one.score, one.positive);
}

TEST(AreaUnderCurve, IsTheSameToTheBitWhateverFitsIntoMemory) {
  const std::vector<ScoredSample> samples = draw_scores(3000);
  const double expected = compare_all_pairs(samples);
  EXPECT_GT(expected, 0.6);
  AreaUnderCurve whole;
  add_all(whole, samples);
  EXPECT_EQ(whole.parts(), 2u);
  for (const std::size_t limit : {1u, 7u, 1000u, 3002u, 3003u}) {
    SCOPED_TRACE(limit);
    AreaUnderCurve area(limit);
    add_all(area, samples);
    EXPECT_EQ(area.parts() > 2, limit < 3003) << "there are runs in the file";
    EXPECT_EQ(area.compute().value, expected);
    EXPECT_EQ(area.compute().standard_error, whole.compute().standard_error);
  }
}

TEST(AreaUnderCurve, OfSeveralRanksIsThatOfAllSamples) {
  const std::vector<ScoredSample> samples = draw_scores(2000);
  AreaUnderCurve first(100), second(300), whole(150), all(150);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    (i % 3 == 0 ? first : second).add(samples[i].score, samples[i].positive);
  }
  add_all(whole, samples);
  for (const AreaUnderCurve* rank : {&first, &second}) {
    for (std::size_t i = 0; i < rank->parts(); ++i) {
      EXPECT_LE(rank->part(i).size(), 301u);
      all.merge(rank->part(i));
    }
  }
  EXPECT_EQ(all.compute().value, whole.compute().value);
  EXPECT_EQ(all.compute().standard_error, whole.compute().standard_error);
}

TEST(AreaUnderCurve, NeedsSamplesOfBothKinds) {
  AreaUnderCurve area(2);
  EXPECT_FALSE(area.compute().value);
  for (int i = 0; i < 5; ++i) area.add(i, true);
  EXPECT_FALSE(area.compute().value);
  area.add(3.5, false);
  EXPECT_EQ(area.compute().value, 0.2);
}

TEST(AreaUnderCurve, NamesTheFolderThatTakesNoScores) {
  const TemporaryDirectory directory;
  setenv("TMPDIR", (directory.path() / "missing").c_str(), 1);
  AreaUnderCurve area(2);
  area.add(1, true);
  const std::string message = get_error([&] { area.add(2, false); });
  unsetenv("TMPDIR");
  EXPECT_NE(message.find("the evaluation's scores: cannot be written into "), std::string::npos) << message;
  EXPECT_NE(message.find("/missing: No such file or directory; TMPDIR names another folder"), std::string::npos);
}

}  // namespace
}  // namespace ptrain
