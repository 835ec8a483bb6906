#include "core/runtime/decoding/beam_search.h"

#include "core/base/errors.h"

#include <algorithm>
#include <cmath>
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

/// The log of the sum of exponentials.
double log_sum(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return largest + std::log(sum);
}

/// Keeps the `most` likeliest of those before and of this beam's.
void add_continuations(std::size_t beam, double before, std::span<const float> logits, std::size_t most,
                       std::vector<Continuation>& kept) {
  const double all = log_sum(logits);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const Continuation one{before + static_cast<double>(logits[token]) - all, beam, static_cast<std::int32_t>(token)};
    if (kept.size() == most && !(one < kept.back())) continue;
    kept.insert(std::upper_bound(kept.begin(), kept.end(), one), one);
    if (kept.size() > most) kept.pop_back();
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
