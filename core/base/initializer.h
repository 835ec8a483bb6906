// Initial values of variables, from random numbers.
#pragma once

#include "core/base/rng.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace ptrain {

/// Initial values of a variable.
struct Initializer {
  enum class Kind { constant, normal, uniform };
  Kind kind = Kind::constant;
  float value = 0;              // constant: the value; normal: standard deviation; uniform: bound of [-value, value)
  std::int64_t zero_from = -1;  // channels of the last axis from this one on are zero; -1: none
};

/// The number of a variable's stream of random numbers; it depends on the name alone, so that adding a layer changes no
/// other layer's values.
std::uint32_t random_stream_number(std::string_view name);

/// Sets values[i], i in [begin, end), from number i of the stream; whatever zero_from says.
void fill_values(const Initializer& initializer, const RandomStream& stream, std::size_t begin, std::size_t end,
                 std::span<float> values);

}  // namespace ptrain
