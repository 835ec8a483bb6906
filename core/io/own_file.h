// Files that only the user can have written: a cache that another user could have planted is not trusted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ptrain {

struct OwnFile {
  std::optional<std::string> content;
  std::string problem;  // why an existing file is not read; empty: there is no file
};

/// The content of a regular file that belongs to the user (or to root) and that no other user may write. Links are not
/// followed, and FIFOs are not waited for.
OwnFile read_own_file(const std::filesystem::path& path);

/// Why other users could have written the contents of `folder`; empty: they could not, or it does not exist.
std::string folder_problem(const std::filesystem::path& folder);

/// Creates `folder`, which only the user may enter, and its parents. Throws Error{failed} when it cannot.
void make_own_folder(const std::filesystem::path& folder);

}  // namespace ptrain
