// Converts text files to UTF-8.
#pragma once

#include "core/base/enums.h"

#include <filesystem>
#include <string>

namespace ptrain {

struct DecodedText {
  std::string text;  // UTF-8, or unconverted if the encoding was not detected: its reader reports that
  std::string note;  // the detected encoding, one line; empty for UTF-8, or if the encoding was given
};

/// A file's content as UTF-8, without a byte order mark; `name` is for messages. TextEncoding::automatic detects UTF-16
/// by its byte order mark, then UTF-8 if it is well formed, else GB18030 (which includes GBK and GB2312) if it is valid
/// and most characters are in GB2312. Throws Error{failed} naming `name`, the line and data.encoding if it is none of
/// these, or not in the given encoding, and if its lines end in carriage returns alone.
DecodedText decode_text(std::string bytes, const std::string& name, TextEncoding encoding);

/// The same of a file of running text, whose lines end in line feeds then, as those of tables do. A byte of 0 is an
/// error with its line.
DecodedText read_running_text(const std::filesystem::path& file, TextEncoding encoding);

}  // namespace ptrain
