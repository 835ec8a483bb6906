// Chooses a text's next token from the model's scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ptrain {

struct SamplingOptions {
  std::size_t top_k = 40;        // number of most likely tokens to sample from; 0: all
  float temperature = 1;         // divisor of logits; 0: always the most likely token
  float top_p = 1;               // of the most likely ones, as few as reach this probability (Holtzman et al. 2020)
  float min_p = 0;               // only tokens with this share of the largest probability (Nguyen et al. 2024)
  float repetition_penalty = 1;  // divisor of positive logits, and factor of negative ones, of tokens that the text has
                                 // (Keskar et al., "CTRL", 2019)
  std::uint64_t seed = 1;
};

/// The token after `text`: drawn by `uniform`, which lies in [0, 1), from those that the options leave. They apply in
/// transformers' order: penalty, temperature, top_k, top_p, min_p, each to what the one before left. Ties go to the
/// lower id.
std::int32_t choose_token(std::span<const float> logits, std::span<const std::int32_t> text,
                          const SamplingOptions& options, float uniform);

}  // namespace ptrain
