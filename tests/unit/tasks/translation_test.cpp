// Metrics of translations against sacreBLEU's (tests/golden/make_translation_golden.py).
#include "core/data/tensor_names.h"
#include "core/io/atomic_file.h"
#include "core/tasks/translation/translation_metrics.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace ptrain {
namespace {

nlohmann::json read_golden() {
  return nlohmann::json::parse(read_file(PTRAIN_SOURCE_DIR "/tests/golden/translation.json"));
}

TEST(TranslationScores, TokensAreThoseOfSacreBleu13a) {
  for (const nlohmann::json& one : read_golden().at("tokens")) {
    EXPECT_EQ(fmt::format("{}", fmt::join(tokenize_13a(one.at("line").get<std::string>()), " ")),
              one.at("tokens").get<std::string>());
  }
}

TEST(TranslationScores, AreThoseOfSacreBleu) {
  const nlohmann::json golden = read_golden();
  EXPECT_EQ(TranslationScores::signature(), golden.at("signature").get<std::string>());
  for (const auto& [name, corpus] : golden.at("corpora").items()) {
    TranslationScores scores;
    for (std::size_t i = 0; i < corpus.at("translations").size(); ++i) {
      scores.add(corpus.at("translations")[i].get<std::string>(), corpus.at("references")[i].get<std::string>());
    }
    EXPECT_NEAR(scores.bleu(), corpus.at("bleu").get<double>(), 1e-9) << name;
    EXPECT_NEAR(scores.chrf(), corpus.at("chrf").get<double>(), 1e-9) << name;
  }
}

TEST(TranslationMetrics, OfRanksAreThoseOfAllTexts) {
  const auto make_batch = [](std::vector<std::int32_t> next) {
    Batch batch;
    batch.add(tensor_names::next_tokens, {static_cast<std::int64_t>(next.size())}, next);
    batch.count = 1;
    return batch;
  };
  TranslationMetrics first, second, all;
  first.add_batch(make_batch({4, 5, -1, -1}), 1.0, {});
  first.add_text("the cat sat on the mat", "the cat sat on a mat");
  second.add_batch(make_batch({4, 5, 6, 7}), 4.0, {});
  second.add_text("a dog runs", "a small dog runs fast");
  for (const TranslationMetrics* rank : {&first, &second}) all.merge(rank->state());
  EXPECT_EQ(all.samples(), 2);
  EXPECT_EQ(all.mean_loss(), (2 * 1.0 + 4 * 4.0) / 6);
  TranslationScores scores;
  scores.add("the cat sat on the mat", "the cat sat on a mat");
  scores.add("a dog runs", "a small dog runs fast");
  const std::vector<MetricValue> values = all.values();
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[0].value, std::exp(3.0));
  EXPECT_EQ(values[2].value, scores.bleu());
  EXPECT_EQ(values[3].value, scores.chrf());
  EXPECT_EQ(all.signature(), TranslationScores::signature());
}

TEST(TranslationMetrics, WithoutTextsHaveNoBleu) {
  const TranslationMetrics metrics;
  for (const MetricValue& value : metrics.values()) EXPECT_FALSE(value.value) << value.name;
  EXPECT_EQ(metrics.signature(), "");
}

}  // namespace
}  // namespace ptrain
