// Parses an option whose value is an enum name.
#pragma once

#include "core/base/enums.h"
#include "core/base/errors.h"

#include <fmt/ranges.h>

#include <string>

namespace ptrain {

/// The enum value of that name. Throws Error{usage} naming `option` and the valid names.
template <typename E>
E parse_choice(const char* option, const std::string& name) {
  if (const auto value = choice_from_name<E>(name)) return *value;
  fail_usage("{}: expected {}, got \"{}\"", option, fmt::join(EnumNames<E>::names, "|"), name);
}

}  // namespace ptrain
