// Standard input, output and error, whatever the caller has made of them.
#pragma once

#include <string_view>

namespace ptrain {

/// Opens those of the descriptors 0 to 2 that are closed on /dev/null: the next file to be opened would get their
/// numbers and what is printed. To be called before any file is opened.
void open_standard_streams();

/// Prints a line on standard error. A reader that is gone, or a full disk, ends nothing.
void print_error_line(std::string_view line);

/// Flushes standard output. Throws Error{failed} where a part of what was printed is lost, unless its reader has gone.
void finish_output();

}  // namespace ptrain
