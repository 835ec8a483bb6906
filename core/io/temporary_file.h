// Files that are needed for a while only.
#pragma once

#include <filesystem>

namespace ptrain {

/// The folder for temporary files: TMPDIR, or /tmp where that is not set. It may be missing.
std::filesystem::path get_temporary_folder();

/// Opens a new file in `folder` for reading and writing. It has no name, and is gone when its descriptor is closed.
/// Returns -1 where that fails, with errno set.
int open_temporary_file(const std::filesystem::path& folder);

}  // namespace ptrain
