// Reports read back.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

namespace ptrain {

/// A report of version 1, also one from before or after fields were added: what it has must fit the schema, and what
/// ptrain's own readers need must be there. Throws as read_document does.
nlohmann::json read_report(const std::filesystem::path& path);

}  // namespace ptrain
