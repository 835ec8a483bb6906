// Files that only the user can have written: a cache that another could have planted is not believed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ptrain {

struct OwnFile {
  std::optional<std::string> content;
  std::string problem;  // why there is no content though something lies there; empty: nothing lies there
};

/// The content of a regular file that belongs to the user (or to root) and that no other may write. Links are not
/// followed, and nothing is waited for.
OwnFile read_own_file(const std::filesystem::path& path);

/// Why others could have put there what `folder` holds; empty: they could not, or it does not exist.
std::string folder_problem(const std::filesystem::path& folder);

/// Makes `folder`, which only the user may enter, and those above it. Throws Error{failed} when it cannot.
void make_own_folder(const std::filesystem::path& folder);

}  // namespace ptrain
