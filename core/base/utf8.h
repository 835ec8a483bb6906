// Whether bytes are text.
#pragma once

#include <string_view>

namespace ptrain {

/// Well-formed UTF-8: what JSON can carry.
bool is_utf8(std::string_view text);

}  // namespace ptrain
