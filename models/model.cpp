#include "models/model.h"

#include "core/base/rng.h"

#include <cmath>

namespace ptrain {
namespace {

/// FNV-1a: a stream number that depends on the name alone, so that adding a layer changes no other layer's values.
std::uint32_t stream_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

float normal(const RandomStream& stream, std::uint64_t element) {
  constexpr float two_pi = 6.28318530717958647692f;
  const float u1 = 1.0f - stream.uniform(2 * element);  // (0, 1]
  const float u2 = stream.uniform(2 * element + 1);
  return std::sqrt(-2.0f * std::log(u1)) * std::cos(two_pi * u2);
}

}  // namespace

void initialize(const Initializer& initializer, const Shape& shape, std::string_view name, std::uint64_t seed,
                std::span<float> values) {
  const RandomStream stream{seed, 0, stream_of(name)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (initializer.kind) {
      case Initializer::Kind::constant:
        values[i] = initializer.value;
        break;
      case Initializer::Kind::normal:
        values[i] = initializer.value * normal(stream, i);
        break;
      case Initializer::Kind::uniform:
        values[i] = initializer.value * (2.0f * stream.uniform(i) - 1.0f);
        break;
    }
    const bool zero = initializer.zero_from >= 0 && static_cast<std::int64_t>(i) % shape[-1] >= initializer.zero_from;
    if (zero) values[i] = 0.0f;
  }
}

bool is_running_statistic(std::string_view name) {
  return name.ends_with(".running_mean") || name.ends_with(".running_var");
}

bool is_weight_matrix(const Shape& shape) { return shape.rank() >= 2; }

}  // namespace ptrain
