// The manual page: the commands with their --help, and every configuration key.
#pragma once

#include "cli/reference/command_tree.h"

#include <string>

namespace ptrain {

/// In man(7)'s language (roff with the an macros).
std::string man_page(const CommandDescription& program, const std::string& version);

}  // namespace ptrain
