// Standard input, output and error, in whatever state the caller left them.
#pragma once

#include <string_view>

namespace ptrain {

/// Opens closed descriptors among 0 to 2 on /dev/null: the next opened file would take their numbers and receive what
/// is printed. Call this before any file is opened.
void open_standard_streams();

/// Prints a line on standard error. A closed pipe or a full disk is ignored.
void print_error_line(std::string_view line);

/// Flushes standard output. Throws Error{failed} where part of the output is lost, unless its reader has gone.
void finish_output();

}  // namespace ptrain
