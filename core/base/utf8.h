// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace ptrain {

/// Bytes of the well-formed UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t utf8_length(std::string_view text);

/// Well-formed UTF-8: what JSON can carry.
bool is_utf8(std::string_view text);

}  // namespace ptrain
