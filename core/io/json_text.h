// JSON that others wrote.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace ptrain {

/// Levels of lists and objects that are read: more than any document here has, and few enough to copy and to print.
inline constexpr int deepest_json = 64;

/// The value, or a discarded one where `text` is no whole JSON or nests deeper.
nlohmann::json parse_json(std::string_view text);

}  // namespace ptrain
