#include "core/tasks/language_model/language_model_metrics.h"

#include "core/tasks/loss_divisor.h"

#include <algorithm>
#include <cmath>

namespace ptrain {

std::vector<MetricInfo> LanguageModelMetrics::infos() {
  return {{"perplexity", "perplexity", "", MetricKind::amount, false, "exp of the mean loss per token"}, loss_info()};
}

void LanguageModelMetrics::add_batch(const Batch& batch, std::optional<double> loss, const Batch& /*scores*/) {
  add_samples(batch.count);
  add_loss(loss.value(), std::llround(loss_divisor(batch, {})));
}

std::vector<MetricValue> LanguageModelMetrics::values() const {
  constexpr double most = 700;  // its exponential is finite
  const std::vector<MetricInfo> all = infos();
  if (samples() == 0) return {measured(all[0], {}), measured(all[1], {})};
  return {measured(all[0], std::exp(std::min(mean_loss(), most))), measured(all[1], mean_loss())};
}

}  // namespace ptrain
