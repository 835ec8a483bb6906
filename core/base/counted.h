// Counts with their nouns in messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ptrain {

/// "1 run", "2 runs": for nouns whose plural ends in s.
template <class Number>
std::string counted(Number number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace ptrain
