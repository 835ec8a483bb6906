// The manual page: every command's --help, and every configuration key.
#pragma once

#include "cli/reference/command_tree.h"

#include <string>

namespace ptrain {

/// Formats the page in roff with the man macros.
std::string man_page(const CommandDescription& program, const std::string& version);

}  // namespace ptrain
