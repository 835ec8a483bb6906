// Ranges of options that are real numbers.
#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <string>

namespace ptrain {

/// As CLI::Range, but NaN is outside of every range.
inline CLI::Validator in_range(double low, double high) {
  const CLI::Validator range = CLI::Range(low, high);
  const auto check = [range](std::string& text) {
    double value = 0;
    const bool is_nan = CLI::detail::lexical_cast(text, value) && std::isnan(value);
    return is_nan ? "Value " + text + " is no number" : range(text);
  };
  return {check, range.get_description()};
}

}  // namespace ptrain
