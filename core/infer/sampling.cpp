#include "core/infer/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ptrain {
namespace {

/// Each token once, however often the text has it.
std::vector<float> penalize_repetition(std::span<const float> logits, std::span<const std::int32_t> text,
                                       float penalty) {
  std::vector<float> result(logits.begin(), logits.end());
  for (const std::int32_t id : text) {
    const float logit = logits[static_cast<std::size_t>(id)];
    result[static_cast<std::size_t>(id)] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return result;
}

/// The `count` most likely tokens, in order.
std::vector<std::int32_t> find_likeliest(std::span<const float> logits, std::size_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; };
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](std::int32_t a, std::int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  ids.erase(end, ids.end());
  return ids;
}

}  // namespace

std::int32_t choose_token(std::span<const float> logits, std::span<const std::int32_t> text,
                          const SamplingOptions& options, float uniform) {
  std::vector<float> penalized;
  if (options.repetition_penalty != 1) {
    penalized = penalize_repetition(logits, text, options.repetition_penalty);
    logits = penalized;
  }
  if (options.temperature <= 0 || options.top_k == 1) {
    return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
  }
  const std::size_t count = options.top_k == 0 ? logits.size() : std::min(options.top_k, logits.size());
  const std::vector<std::int32_t> ids = find_likeliest(logits, count);
  const auto logit = [&](std::size_t i) { return static_cast<double>(logits[static_cast<std::size_t>(ids[i])]); };
  std::vector<double> weights(count);  // relative to the most likely token's
  for (std::size_t i = 0; i < count; ++i) {
    weights[i] = std::exp((logit(i) - logit(0)) / static_cast<double>(options.temperature));
  }
  const double whole = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> sums;  // of the weights that are left
  for (const double weight : weights) {
    const double before = sums.empty() ? 0 : sums.back();
    const bool is_left = before < static_cast<double>(options.top_p) * whole && weight >= options.min_p;
    if (!sums.empty() && !is_left) break;
    sums.push_back(before + weight);
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), static_cast<double>(uniform) * sums.back());
  return ids[static_cast<std::size_t>(std::min(drawn, sums.end() - 1) - sums.begin())];
}

}  // namespace ptrain
