#include "core/tasks/language_model/language_model_metrics.h"

#include "core/tasks/loss_divisor.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

const MetricInfo& perplexity_info() {
  static const MetricInfo info{"perplexity",       "perplexity", "",
                               MetricKind::amount, false,        "exp of the mean loss per token"};
  return info;
}

MetricValue measure_perplexity(const CountedMetrics& metrics) {
  constexpr double most = 700;  // its exponential is finite
  if (metrics.samples() == 0) return measured(perplexity_info(), {});
  return measured(perplexity_info(), std::exp(std::min(metrics.mean_loss(), most)));
}

std::vector<MetricInfo> LanguageModelMetrics::infos() { return {perplexity_info(), loss_info()}; }

void LanguageModelMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& /*scores*/) {
  add_samples(batch.count);
  add_loss(loss.value(), std::llround(loss_divisor(batch, {})));
}

std::vector<MetricValue> LanguageModelMetrics::values() const {
  const auto loss = samples() > 0 ? std::optional(mean_loss()) : std::nullopt;
  return {measure_perplexity(*this), measured(loss_info(), loss)};
}

}  // namespace ptrain
