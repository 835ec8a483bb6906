// What text is: UTF-8, its byte order mark, its line ends.
#pragma once

#include <cstddef>
#include <string_view>

namespace ptrain {

/// Length in bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text);

/// Whether `bytes` are well-formed UTF-8, which JSON requires.
bool is_utf8(std::string_view text);

/// `text` without the byte order mark that it may begin with: a sign that it is UTF-8, and no part of it.
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

inline constexpr std::string_view lone_returns_message =
    "lines end in carriage returns only; expected line feeds (tr '\\r' '\\n')";

/// Whether the lines of `text` end in carriage returns alone, as on old Macs, so that it reads as one line.
inline bool has_lone_returns(std::string_view text) {
  const std::size_t at = text.find('\r');
  return at != text.npos && at + 1 < text.size() && text.find('\n') == text.npos;
}

}  // namespace ptrain
