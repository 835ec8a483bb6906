// An option whose value is one of a few names.
#pragma once

#include "core/base/enums.h"
#include "core/base/errors.h"

#include <fmt/ranges.h>

#include <string>

namespace ptrain {

/// The choice of that name. Throws Error{usage} naming `option` and what there is to choose from.
template <typename E>
E parse_choice(const char* option, const std::string& name) {
  if (const auto value = choice_from_name<E>(name)) return *value;
  fail_usage("{}: expected {}, got \"{}\"", option, fmt::join(EnumNames<E>::names, "|"), name);
}

}  // namespace ptrain
