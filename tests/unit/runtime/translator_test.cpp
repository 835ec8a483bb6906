// Translations with caches are those of whole texts computed anew, and the search finds the best ones.
#include "core/runtime/decoding/translator.h"

#include "core/base/rng.h"
#include "core/data/tensor_names.h"
#include "core/runtime/weights.h"
#include "models/text/transformer.h"
#include "tests/disturbed_weights.h"
#include "tests/small_models.h"
#include "tests/temporary_directory.h"
#include "tests/test_backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ptrain {
namespace {

using Ids = std::vector<std::int32_t>;
using Logits = std::function<std::vector<float>(const Ids&)>;

constexpr std::int32_t end_token = 0;

/// Searches with the logits after a text.
Ids search(const SearchOptions& options, const Logits& logits) {
  BeamSearch search(options, end_token);
  while (!search.is_done()) {
    std::vector<std::vector<float>> scores;
    for (const BeamSearch::Beam& beam : search.beams()) scores.push_back(logits(beam.tokens));
    search.step(std::vector<std::span<const float>>(scores.begin(), scores.end()));
  }
  return search.best();
}

/// Logits that depend on the tokens before, of four tokens.
std::vector<float> draw_logits(const Ids& tokens) {
  std::uint64_t hash = 17;
  for (const std::int32_t token : tokens) hash = hash * 31 + static_cast<std::uint64_t>(token) + 1;
  const RandomStream random{hash, 0, 1};
  std::vector<float> logits;
  for (std::uint64_t i = 0; i < 4; ++i) logits.push_back(4.0f * random.uniform(i));
  return logits;
}

/// The best score of all texts that continue `tokens`.
double find_best_score(const SearchOptions& options, const Ids& tokens, double before, Ids& best) {
  const std::vector<float> logits = draw_logits(tokens);
  double sum = 0, best_score = -1e9;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  for (std::int32_t token = 0; token < 4; ++token) {
    const double log_probability =
        before + static_cast<double>(logits[static_cast<std::size_t>(token)]) - std::log(sum);
    const auto length = static_cast<std::int64_t>(tokens.size()) + 1;
    Ids longer = tokens, found;
    if (token != end_token) longer.push_back(token);
    double score = log_probability / std::pow(static_cast<double>(length), options.length_penalty);
    found = longer;
    if (token != end_token && length < options.max_tokens) {
      score = find_best_score(options, longer, log_probability, found);
    }
    if (score > best_score) best_score = score, best = found;
  }
  return best_score;
}

TEST(BeamSearch, WithEnoughBeamsFindsTheBestTextOfAll) {
  for (const double penalty : {0.0, 0.6, 1.0}) {
    const SearchOptions options{.beams = 300, .max_tokens = 4, .length_penalty = penalty};
    Ids best;
    find_best_score(options, {}, 0, best);
    EXPECT_EQ(search(options, draw_logits), best) << penalty;
  }
}

TEST(BeamSearch, WithOneBeamTakesTheLikeliestTokenUntilTheEnd) {
  const Logits counts_to_three = [](const Ids& tokens) {
    std::vector<float> logits(5);
    logits[tokens.size() < 3 ? tokens.size() + 1 : 0] = 9;
    return logits;
  };
  EXPECT_EQ(search({.beams = 1, .max_tokens = 10}, counts_to_three), (Ids{1, 2, 3}));
  EXPECT_EQ(search({.beams = 1, .max_tokens = 2}, counts_to_three), (Ids{1, 2}));
}

TEST(BeamSearch, IsDoneWhenTheBestUnfinishedTextIsNoBetterThanTheWorstFinishedOne) {
  const Logits logits = [](const Ids& tokens) -> std::vector<float> {
    const auto logs = [](float end, float one, float two, float three) {
      return std::vector{std::log(end), std::log(one), std::log(two), std::log(three)};
    };
    if (tokens.empty()) return logs(1e-6f, 0.5f, 0.5f, 1e-6f);
    if (tokens == Ids{1}) return logs(0.60f, 1e-6f, 1e-6f, 0.40f);
    if (tokens == Ids{2}) return logs(0.55f, 1e-6f, 1e-6f, 0.45f);
    return logs(1, 1e-6f, 1e-6f, 1e-6f);
  };
  // Mean log probabilities: log(0.30) / 2 of {1}, log(0.275) / 2 of {2}, log(0.225) / 2 of {2, 3} without its end;
  // with it, {2, 3} would have a better mean than both.
  EXPECT_EQ(search({.beams = 2, .max_tokens = 10}, logits), Ids{1});
}

class TranslatorTest : public ::testing::TestWithParam<NormPlace> {
 protected:
  static constexpr std::int64_t max_length = 20, vocabulary = 50;

  void SetUp() override {
    TransformerSpec spec;
    spec.layers = 2;
    spec.hidden = 32;
    spec.heads = 2;
    spec.intermediate = 64;
    spec.vocab_size = vocabulary;
    spec.max_length = max_length;
    spec.norm = GetParam();
    model_ = make_transformer(spec);
    task_ = testing::get_task(*model_);
    variables_.declare(model_->build(1, Mode::evaluation));
    variables_.allocate();
    testing::disturb(*model_, variables_);
    save_weights(file_, *model_, variables_, 1);
  }

  DeployOptions options(std::int64_t texts) const {
    DeployOptions options;
    options.batch_size = texts;
    options.max_length = max_length;
    options.kernels.exhaustive_search = false;
    return options;
  }

  /// The logits after a translation so far, without a cache.
  std::vector<float> answer_anew(DeployedModel& plain, const Ids& source, Ids translation) const {
    translation.insert(translation.begin(), end_token);
    Batch batch;
    const auto add = [&](const char* ids, const char* lengths, const Ids& tokens) {
      batch.add(ids, {std::ssize(tokens)}, tokens);
      batch.add(lengths, {}, Ids{static_cast<std::int32_t>(tokens.size())});
    };
    add(tensor_names::ids, tensor_names::lengths, source);
    add(tensor_names::decoder_ids, tensor_names::decoder_lengths, translation);
    batch.count = 1;
    const Batch scores = plain.run(batch);
    const auto row = scores.at(tensor_names::logits).row<float>(std::ssize(translation) - 1);
    return {row.begin(), row.end()};
  }

  static std::vector<Ids> draw_sources() {
    std::vector<Ids> sources;
    const RandomStream random{5, 0, 1};
    for (const std::size_t length : {7, 1, 19, 4, 12}) {
      Ids& ids = sources.emplace_back();
      for (std::size_t i = 0; i + 1 < length; ++i) {
        ids.push_back(1 + static_cast<std::int32_t>(random.bits(length * 100 + i) % (vocabulary - 1)));
      }
      ids.push_back(end_token);
    }
    return sources;
  }

  std::unique_ptr<Backend> backend_ = testing::make_test_backend();
  Variables variables_{backend_->memory()};
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "model.safetensors";
  std::unique_ptr<Model> model_;
  std::unique_ptr<Task> task_;
};

TEST_P(TranslatorTest, TranslatesAsWithoutACache) {
  DeployedModel plain(*backend_, *model_, *task_, file_, options(1));
  DeployOptions cached = options(5);
  cached.cache = CacheOptions{};
  const std::vector<Ids> sources = draw_sources();
  for (const std::int64_t beams : {1, 4}) {
    const SearchOptions search_options{.beams = beams, .max_tokens = max_length};
    Translator from_file(*backend_, *model_, *task_, file_, cached, search_options, end_token);
    Translator from_training(*backend_, *model_, *task_, variables_, cached, search_options, end_token);
    const std::vector<Ids> translations = from_file.translate(sources);
    ASSERT_EQ(translations.size(), sources.size());
    EXPECT_EQ(from_training.translate(sources), translations);
    EXPECT_EQ(from_training.translate(std::span(sources).subspan(2, 1)).front(), translations[2]) << "alone";
    for (std::size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(translations[i],
                search(search_options, [&](const Ids& tokens) { return answer_anew(plain, sources[i], tokens); }))
          << beams << " beams, text " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, TranslatorTest, ::testing::Values(NormPlace::post, NormPlace::pre),
                         [](const auto& tested) { return tested.param == NormPlace::pre ? "pre" : "post"; });

}  // namespace
}  // namespace ptrain
