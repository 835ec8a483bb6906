// JSON from untrusted sources.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace ptrain {

/// Maximum nesting of lists and objects: deeper than any document here, and shallow enough to copy and print.
inline constexpr int deepest_json = 64;

/// The value, or a discarded one where `text` is not complete JSON or nests too deeply.
nlohmann::json parse_json(std::string_view text);

}  // namespace ptrain
