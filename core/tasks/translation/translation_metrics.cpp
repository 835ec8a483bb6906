#include "core/tasks/translation/translation_metrics.h"

#include "core/tasks/language_model/language_model_metrics.h"
#include "core/tasks/loss_divisor.h"

#include <cmath>

namespace ptrain {

std::vector<MetricInfo> TranslationMetrics::infos() {
  return {perplexity_info(),
          loss_info(),
          {"bleu", "BLEU", "", MetricKind::amount, true, "sacreBLEU's of the translations, from 0 to 100"},
          {"chrf", "chrF2", "", MetricKind::amount, true, "sacreBLEU's of the translations, from 0 to 100"}};
}

void TranslationMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& /*scores*/) {
  add_samples(batch.count);
  add_loss(loss.value(), std::llround(loss_divisor(batch, {})));
}

void TranslationMetrics::add_text(const std::string& generated, const std::string& reference) {
  ++texts_;
  scores_.add(generated, reference);
}

std::vector<double> TranslationMetrics::state() const {
  std::vector<double> state = CountedMetrics::state();
  const std::vector<double> scores = scores_.state();
  state.reserve(state.size() + 1 + scores.size());
  state.push_back(static_cast<double>(texts_));
  state.insert(state.end(), scores.begin(), scores.end());
  return state;
}

void TranslationMetrics::merge(std::span<const double> state) {
  CountedMetrics::merge(state);
  texts_ += std::llround(state[state_size]);
  scores_.merge(state.subspan(state_size + 1));
}

std::vector<MetricValue> TranslationMetrics::values() const {
  const std::vector<MetricInfo> all = infos();
  const auto loss = samples() > 0 ? std::optional(mean_loss()) : std::nullopt;
  const auto of_texts = [&](double value) { return texts_ > 0 ? std::optional(value) : std::nullopt; };
  return {measure_perplexity(*this), measured(all[1], loss), measured(all[2], of_texts(scores_.bleu())),
          measured(all[3], of_texts(scores_.chrf()))};
}

}  // namespace ptrain
