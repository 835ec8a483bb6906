// Completion of ptrain's command line as a shell script: commands, options, choices of option values, and configuration
// keys after -o; files elsewhere.
#pragma once

#include "cli/reference/command_tree.h"

#include <string>

namespace ptrain {

/// Scripts for the named shell that complete commands, options and their choices.
std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);
std::string fish_completion(const CommandDescription& program);

/// Quotes `text` as one single-quoted word of bash and zsh.
std::string shell_quoted(const std::string& text);
/// The first line of an option's or command's help.
std::string first_line(const std::string& help);
/// Every configuration key as "key.path=", for use after -o.
std::vector<std::string> key_assignments();

}  // namespace ptrain
