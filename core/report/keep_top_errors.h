// Selects the wrong predictions to show: the most confident ones.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace ptrain {

inline constexpr std::size_t most_mistakes = 20;

/// Keeps the largest of `mistakes` by the member `size`, largest first; ties keep their order.
template <typename TopError>
void keep_top_errors(std::vector<TopError>& mistakes, double TopError::*size) {
  std::ranges::stable_sort(mistakes, std::greater<>(), size);
  if (mistakes.size() > most_mistakes) mistakes.resize(most_mistakes);
}

}  // namespace ptrain
