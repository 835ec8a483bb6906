// Text files that are not UTF-8.
#pragma once

#include "core/base/enums.h"

#include <string>

namespace ptrain {

struct DecodedText {
  std::string text;  // UTF-8, unless nothing says what the bytes are: that is for its reader to find
  std::string note;  // a line on what the file was found to be; empty where it is UTF-8, or its encoding was given
};

/// A file's content as UTF-8; `name` is for messages. With TextEncoding::automatic it is taken for UTF-16 where a byte
/// order mark says so, for UTF-8 where it is well formed, and else for GB18030 (which GBK and GB2312 are part of) where
/// it is valid and its characters are mostly those of GB2312. Throws Error{failed} naming `name`, the line and
/// data.encoding where it is none of these, or is not what was asked for.
DecodedText decode_text(std::string bytes, const std::string& name, TextEncoding encoding);

}  // namespace ptrain
