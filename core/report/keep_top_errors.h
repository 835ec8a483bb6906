// Selects the wrong predictions to show: the most confident ones.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace ptrain {

inline constexpr std::size_t most_top_errors = 20;

/// Keeps the largest of `errors` by the member `size`, largest first; ties keep their order.
template <typename TopError>
void keep_top_errors(std::vector<TopError>& errors, double TopError::*size) {
  std::ranges::stable_sort(errors, std::greater<>(), size);
  if (errors.size() > most_top_errors) errors.resize(most_top_errors);
}

}  // namespace ptrain
