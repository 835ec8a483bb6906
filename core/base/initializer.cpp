#include "core/base/initializer.h"

#include <algorithm>
#include <cmath>

namespace ptrain {
namespace {

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

}  // namespace

std::uint32_t random_stream_number(std::string_view name) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

void fill_values(const Initializer& initializer, const RandomStream& stream, std::size_t begin, std::size_t end,
                 std::span<float> values) {
  switch (initializer.kind) {
    case Initializer::Kind::constant:
      std::fill(values.data() + begin, values.data() + end, initializer.value);
      break;
    case Initializer::Kind::normal:
      fill_normal(stream, initializer.value, begin, end, values);
      break;
    case Initializer::Kind::uniform:
      for (std::size_t i = begin; i < end; ++i) values[i] = initializer.value * (2.0f * stream.uniform(i) - 1.0f);
      break;
  }
}

}  // namespace ptrain
