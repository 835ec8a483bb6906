// Folders that are replaced as a whole.
#pragma once

#include <filesystem>
#include <functional>

namespace ptrain {

/// Puts what `write` writes into an empty folder in the place of `folder`, whole or not at all. Throws Error{failed}.
void replace_folder(const std::filesystem::path& folder,
                    const std::function<void(const std::filesystem::path&)>& write);

}  // namespace ptrain
