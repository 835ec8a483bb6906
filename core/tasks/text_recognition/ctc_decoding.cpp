#include "core/tasks/text_recognition/ctc_decoding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ptrain {

RecognizedText decode_greedily(std::span<const float> logits, std::int64_t classes) {
  const auto each = static_cast<std::size_t>(classes);
  RecognizedText text;
  std::int32_t last = blank_class;
  for (; !logits.empty(); logits = logits.subspan(each)) {
    const auto step = logits.first(each);
    const auto best = std::ranges::max_element(step);
    const auto character = static_cast<std::int32_t>(best - step.begin());
    if (character != last && character != blank_class) {
      const double sum = std::accumulate(step.begin(), step.end(), 0.0, [&](double total, float logit) {
        return total + std::exp(static_cast<double>(logit - *best));
      });
      text.characters.push_back(character);
      text.probability += 1 / sum;
    }
    last = character;
  }
  if (!text.characters.empty()) text.probability /= static_cast<double>(text.characters.size());
  return text;
}

std::span<const std::int32_t> trim_characters(std::span<const std::int32_t> characters) {
  const auto end = std::ranges::find_if(characters, [](std::int32_t one) { return one < 0; });
  return characters.first(static_cast<std::size_t>(end - characters.begin()));
}

double compute_edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer == 0) return 0;
  std::vector<std::size_t> distances(b.size() + 1);  // from the first characters of a to those of b
  std::iota(distances.begin(), distances.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t replaced = distances[0];
    distances[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t by_replacing = replaced + (a[i] == b[j] ? 0 : 1);
      replaced = distances[j + 1];
      distances[j + 1] = std::min({by_replacing, distances[j + 1] + 1, distances[j] + 1});
    }
  }
  return static_cast<double>(distances.back()) / static_cast<double>(longer);
}

}  // namespace ptrain
