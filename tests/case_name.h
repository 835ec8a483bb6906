// What parameterised tests call their cases: the parameter's text, which unlike its bytes is the same in every run.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace ptrain {

/// gtest prints what has a name, or a text of its own, as that.
template <typename T>
requires requires(const T& value) { to_string(value); }
void PrintTo(const T& value, std::ostream* out) { *out << to_string(value); }
template <typename T>
requires requires(const T& value) { value.to_string(); }
void PrintTo(const T& value, std::ostream* out) { *out << value.to_string(); }

namespace testing {

/// A generator of names: what gtest prints of the parameter, with an underscore for what names cannot have.
inline constexpr auto case_name = [](const auto& instance) {
  std::string name;
  for (const char c : ::testing::PrintToString(instance.param)) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (name.ends_with('_')) name.pop_back();
  return name;
};

}  // namespace testing
}  // namespace ptrain
