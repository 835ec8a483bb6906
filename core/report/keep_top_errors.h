// Which wrong answers are shown to people: the surest.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace ptrain {

inline constexpr std::size_t most_mistakes = 20;

/// Keeps the largest of `mistakes` by the member `size`, the largest first; of equal ones those that came first.
template <typename TopError>
void keep_top_errors(std::vector<TopError>& mistakes, double TopError::*size) {
  std::ranges::stable_sort(mistakes, std::greater<>(), size);
  if (mistakes.size() > most_mistakes) mistakes.resize(most_mistakes);
}

}  // namespace ptrain
