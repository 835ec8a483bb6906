// Completion of ptrain's command line in a shell, as the script that the shell sources: commands, options, the values
// that an option has to choose from, and configuration keys after -o; files elsewhere.
#pragma once

#include "cli/reference/command_tree.h"

#include <string>

namespace ptrain {

/// Scripts that the shell of that name reads to complete commands, options and their choices.
std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);
std::string fish_completion(const CommandDescription& program);

/// `text` as one single-quoted word of bash and zsh.
std::string shell_quoted(const std::string& text);
/// The first line of an option's or command's help.
std::string first_line(const std::string& help);
/// Every configuration key as "key.path=", for after -o.
std::vector<std::string> key_assignments();

}  // namespace ptrain
