#include "core/model/model.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <iterator>

namespace ptrain {

std::vector<WeightMapping> Model::weights() const {
  std::vector<WeightMapping> mappings;
  for (ModelVariable& variable : variables()) {
    std::move(variable.files.begin(), variable.files.end(), std::back_inserter(mappings));
  }
  return mappings;
}

void initialize(const Initializer& initializer, const Shape& shape, std::string_view name, std::uint64_t seed,
                std::span<float> values) {
  const RandomStream stream{seed, 0, random_stream_number(name)};
  parallel_for(static_cast<std::int64_t>(values.size()), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    fill_values(initializer, stream, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), values);
    if (initializer.zero_from < 0) return;
    for (std::int64_t i = begin; i < end; ++i) {
      if (i % shape[-1] >= initializer.zero_from) values[static_cast<std::size_t>(i)] = 0.0f;
    }
  });
}

bool is_running_variance(std::string_view name) { return name.ends_with(".running_var"); }

bool is_running_statistic(std::string_view name) {
  return name.ends_with(".running_mean") || is_running_variance(name);
}

bool is_weight_matrix(const Shape& shape) { return shape.rank() >= 2; }

}  // namespace ptrain
