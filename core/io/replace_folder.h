// Atomic replacement of folders.
#pragma once

#include <filesystem>
#include <functional>

namespace ptrain {

/// Replaces `folder` with what `write` writes into an empty folder, completely or not at all. Throws Error{failed}.
void replace_folder(const std::filesystem::path& folder,
                    const std::function<void(const std::filesystem::path&)>& write);

}  // namespace ptrain
