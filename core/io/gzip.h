// Data files that are compressed by gzip, as many are published.
#pragma once

#include "core/io/atomic_file.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace ptrain {

/// Whether a file, open for reading, starts as gzip's do.
bool is_gzip(int descriptor);

/// Calls `take` for what a gzip file holds, all its members, a piece at a time. Throws UnreadableFile naming `path`
/// where the data are damaged or cut off.
void unpack_gzip(const std::filesystem::path& path, int descriptor,
                 const std::function<void(std::span<const std::byte>)>& take);

/// The same into a file without a name below the system's folder for temporary files, which is gone when it is closed.
/// Throws Error{failed} too where that cannot be written.
OpenFile unpack_to_temporary_file(const std::filesystem::path& path, int descriptor);

/// As read_file(), for a file that may be compressed by gzip: what it holds.
std::string read_unpacked_file(const std::filesystem::path& path, WebPages pages = WebPages::refuse);

/// A file's name without ".gz", which says nothing of its form.
std::filesystem::path remove_gzip_ending(const std::filesystem::path& path);

}  // namespace ptrain
