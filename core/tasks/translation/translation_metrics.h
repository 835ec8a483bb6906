// Metrics of translation: of the next tokens, and of the texts that a decoder makes.
#pragma once

#include "core/tasks/metrics.h"
#include "core/tasks/translation/translation_scores.h"

namespace ptrain {

class TranslationMetrics final : public CountedMetrics {
 public:
  static std::vector<MetricInfo> infos();

  bool reads_outputs() const override { return false; }
  void add_batch(const Batch& batch, std::optional<double> loss, const Batch& scores) override;
  void add_text(const std::string& generated, const std::string& reference) override;

  std::vector<double> state() const override;
  void merge(std::span<const double> state) override;
  /// Perplexity is exp of the mean loss per token; BLEU and chrF are absent without texts.
  std::vector<MetricValue> values() const override;
  std::string signature() const override { return texts_ > 0 ? TranslationScores::signature() : ""; }

 private:
  std::int64_t texts_ = 0;
  TranslationScores scores_;
};

}  // namespace ptrain
