// Texts from the outputs of connectionist temporal classification, and how far two texts are apart. Characters are
// classes; 0 is the blank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ptrain {

inline constexpr std::int32_t blank_class = 0;

struct RecognizedText {
  std::vector<std::int32_t> characters;
  double probability = 0;  // the mean of the characters' probabilities at the steps where they begin; 0 without any
};

/// The likeliest class of each step, the first of equal ones, without its repetitions and without blanks; `logits`
/// [steps, classes].
RecognizedText decode_greedily(std::span<const float> logits, std::int64_t classes);

/// The characters before the first that is below 0.
std::span<const std::int32_t> trim_characters(std::span<const std::int32_t> characters);

/// The least number of characters to insert, delete or replace (Levenshtein 1966), as a share of the longer text's;
/// 0 for two empty ones.
double compute_edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace ptrain
