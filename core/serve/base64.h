// Base64 (RFC 4648), the form of binary data in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptrain {

/// The bytes that `text` encodes; nothing where it is no base64. Padding may be left out.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ptrain
