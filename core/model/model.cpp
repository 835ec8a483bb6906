#include "core/model/model.h"

#include "core/base/parallel.h"
#include "core/base/rng.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ptrain {
namespace {

/// FNV-1a: the stream number depends on the name only, so that adding a layer changes no other layer's values.
std::uint32_t make_stream(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

/// A standard normal number from two words, by the Box-Muller transform.
float normal(std::uint32_t radius, std::uint32_t angle) {
  constexpr float two_pi = 6.28318530717958647692f;
  const float u1 = 1.0f - to_uniform(radius);  // (0, 1]
  return std::sqrt(-2.0f * std::log(u1)) * std::cos(two_pi * to_uniform(angle));
}

/// values[i] = scale * normal number i of the stream, for i in [begin, end); one block of words yields two of them.
void fill_normal(const RandomStream& stream, float scale, std::size_t begin, std::size_t end, std::span<float> values) {
  for (std::size_t i = begin; i < end;) {
    const Philox4 words = stream.block(i / 2);
    if (i % 2 == 0) values[i++] = scale * normal(words.x, words.y);
    if (i < end) values[i++] = scale * normal(words.z, words.w);
  }
}

void fill(const Initializer& initializer, const RandomStream& stream, std::size_t begin, std::size_t end,
          std::span<float> values) {
  switch (initializer.kind) {
    case Initializer::Kind::constant:
      std::fill(values.begin() + begin, values.begin() + end, initializer.value);
      break;
    case Initializer::Kind::normal:
      fill_normal(stream, initializer.value, begin, end, values);
      break;
    case Initializer::Kind::uniform:
      for (std::size_t i = begin; i < end; ++i) values[i] = initializer.value * (2.0f * stream.uniform(i) - 1.0f);
      break;
  }
}

}  // namespace

std::vector<WeightMapping> Model::weights() const {
  std::vector<WeightMapping> mappings;
  for (ModelVariable& variable : variables()) {
    std::move(variable.files.begin(), variable.files.end(), std::back_inserter(mappings));
  }
  return mappings;
}

void initialize(const Initializer& initializer, const Shape& shape, std::string_view name, std::uint64_t seed,
                std::span<float> values) {
  const RandomStream stream{seed, 0, make_stream(name)};
  parallel_for(static_cast<std::int64_t>(values.size()), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    fill(initializer, stream, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), values);
    if (initializer.zero_from < 0) return;
    for (std::int64_t i = begin; i < end; ++i) {
      if (i % shape[-1] >= initializer.zero_from) values[static_cast<std::size_t>(i)] = 0.0f;
    }
  });
}

bool is_running_statistic(std::string_view name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var");
}

bool is_weight_matrix(const Shape& shape) { return shape.rank() >= 2; }

}  // namespace ptrain
