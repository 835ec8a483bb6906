// Data files that are compressed by gzip or Zstandard, as many are published.
#pragma once

#include "core/io/atomic_file.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace ptrain {

/// Whether a file's bytes start as those of such a file do.
bool is_packed(std::span<const std::byte> bytes);

/// Writes what such a file holds into a temporary file. Throws as Unpacker does, and where that file cannot be written.
OpenFile unpack_to_temporary_file(const std::filesystem::path& path, std::span<const std::byte> packed);

/// As read_file(), for a file that may be compressed: what it holds.
std::string read_unpacked_file(const std::filesystem::path& path, WebPages pages = WebPages::refuse);

/// The file, or, where it is not there, the compressed one of that name (".gz", ".zst").
std::filesystem::path find_packed(const std::filesystem::path& path);

/// A file's name without ".gz" or ".zst", in lower or upper case, which say nothing of its form.
std::filesystem::path remove_packed_ending(const std::filesystem::path& path);

}  // namespace ptrain
