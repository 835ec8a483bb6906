#include "core/runtime/decoding/beam_search.h"

#include "core/base/errors.h"
#include "core/ops/math/exp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ptrain {
namespace {

struct Continuation {
  double log_probability;
  std::size_t beam;
  std::int32_t token;

  /// Likelier, and of equals the one that a flat list of all beams' tokens has first.
  bool operator<(const Continuation& other) const {
    if (log_probability != other.log_probability) return log_probability > other.log_probability;
    return beam != other.beam ? beam < other.beam : token < other.token;
  }
};

float find_largest(std::span<const float> logits) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::size_t i = 0; i < logits.size(); ++i) largest = logits[i] > largest ? logits[i] : largest;
  return largest;
}

/// The log of the sum of exponentials.
double log_sum(std::span<const float> logits) {
  const float largest = find_largest(logits);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < logits.size(); ++i) sum += fast_exp(logits[i] - largest);
  return static_cast<double>(largest) + std::log(static_cast<double>(sum));
}

/// Keeps the `most` likeliest of those before and of this beam's.
void add_continuations(std::size_t beam, double before, std::span<const float> logits, std::size_t most,
                       std::vector<Continuation>& kept) {
  constexpr std::size_t block = 64;  // tokens; most blocks have none that is likely enough
  const double offset = before - log_sum(logits);
  const auto log_probability = [offset](float logit) { return static_cast<double>(logit) + offset; };
  for (std::size_t first = 0; first < logits.size(); first += block) {
    const std::size_t end = std::min(first + block, logits.size());
    const float largest = find_largest(logits.subspan(first, end - first));
    if (kept.size() == most && log_probability(largest) < kept.back().log_probability) continue;
    for (std::size_t token = first; token < end; ++token) {
      const Continuation one{log_probability(logits[token]), beam, static_cast<std::int32_t>(token)};
      if (kept.size() == most && !(one < kept.back())) continue;
      kept.insert(std::upper_bound(kept.begin(), kept.end(), one), one);
      if (kept.size() > most) kept.pop_back();
    }
  }
}

}  // namespace

double BeamSearch::score(double log_probability, std::size_t length) const {
  return log_probability / std::pow(static_cast<double>(length), options_.length_penalty);
}

void BeamSearch::finish(std::vector<std::int32_t> tokens, double log_probability, std::size_t length) {
  Finished text{std::move(tokens), score(log_probability, length)};
  const auto better = [](const Finished& a, const Finished& b) { return a.score > b.score; };
  finished_.insert(std::ranges::upper_bound(finished_, text, better), std::move(text));
  if (std::ssize(finished_) > options_.beams) finished_.pop_back();
}

void BeamSearch::step(std::span<const std::span<const float>> logits) {
  invariant(logits.size() == beams_.size() && !is_done_, "a beam search gets other logits than it has beams");
  const auto count = static_cast<std::size_t>(options_.beams);
  std::vector<Continuation> likeliest;
  for (std::size_t beam = 0; beam < beams_.size(); ++beam) {
    add_continuations(beam, beams_[beam].log_probability, logits[beam], 2 * count, likeliest);
  }
  const std::vector<Beam> before = std::exchange(beams_, {});
  const std::size_t length = before.front().tokens.size() + 1;
  for (std::size_t rank = 0; rank < likeliest.size() && beams_.size() < count; ++rank) {
    const auto& [log_probability, parent, token] = likeliest[rank];
    std::vector<std::int32_t> tokens = before[parent].tokens;
    if (token == end_token_) {
      if (rank < count) finish(std::move(tokens), log_probability, length);
      continue;
    }
    tokens.push_back(token);
    beams_.push_back({std::move(tokens), log_probability, parent});
  }
  // No beam becomes likelier; but with a penalty of the length, its score may.
  const double attainable = score(beams_.front().log_probability, length);
  const bool is_full = std::ssize(finished_) == options_.beams;
  is_done_ = is_full && (options_.beams == 1 || finished_.back().score >= attainable);
  if (is_done_ || static_cast<std::int64_t>(length) < options_.max_tokens) return;
  for (Beam& beam : beams_) finish(std::move(beam.tokens), beam.log_probability, length);
  is_done_ = true;
}

const std::vector<std::int32_t>& BeamSearch::best() const {
  invariant(is_done_ && !finished_.empty(), "a beam search's text before it is done");
  return finished_.front().tokens;
}

}  // namespace ptrain
