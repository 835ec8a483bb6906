// Numbers of things in messages.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ptrain {

/// "1 run", "2 runs": of nouns whose plural is made by an s.
template <class Number>
std::string counted(Number number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace ptrain
