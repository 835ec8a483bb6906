// Beam search for one text (transformers' generate with early_stopping false): keeps the likeliest unfinished texts,
// and the best finished ones by their mean log probability.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

/// Of translations that are asked for; evaluations take eval.beams.
inline constexpr std::int64_t default_beams = 5;

struct SearchOptions {
  std::int64_t beams = 1;       // 1: always the likeliest token
  std::int64_t max_tokens = 0;  // of a text, its end token included
  double length_penalty = 1;    // a text's log probability is divided by its number of tokens to this power
};

class BeamSearch {
 public:
  BeamSearch(const SearchOptions& options, std::int32_t end_token) : options_(options), end_token_(end_token) {}

  struct Beam {
    std::vector<std::int32_t> tokens;  // without the end token
    double log_probability = 0;
    std::size_t parent = 0;  // index of the beam of the step before that it continues
  };

  /// Takes the logits of the token after each beam, in the order of beams() (first one row), and chooses the beams that
  /// continue.
  void step(std::span<const std::span<const float>> logits);
  /// Whether no further step can give a better text.
  bool is_done() const { return is_done_; }
  const std::vector<Beam>& beams() const { return beams_; }
  /// The best text so far; call when done.
  const std::vector<std::int32_t>& best() const;

 private:
  struct Finished {
    std::vector<std::int32_t> tokens;
    double score;
  };
  void finish(std::vector<std::int32_t> tokens, double log_probability, std::size_t length);
  double score(double log_probability, std::size_t length) const;

  SearchOptions options_;
  std::int32_t end_token_;
  std::vector<Beam> beams_{Beam{}};
  std::vector<Finished> finished_;  // at most options_.beams, the best first
  bool is_done_ = false;
};

}  // namespace ptrain
