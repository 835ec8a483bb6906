// Zip archives of stored entries, without compression (PKWARE's APPNOTE 6.3): how PyTorch saves.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace ptrain {

/// The entries' bytes by name; they point into the archive.
using ZipEntries = std::map<std::string, std::span<const std::byte>, std::less<>>;

/// Whether `bytes` begin as an archive does.
bool is_zip(std::span<const std::byte> bytes);

/// Throws Error{failed}, one line with `file`, when it is truncated or damaged, an entry's bytes do not have its
/// CRC-32, or it has a compressed entry, or one name twice.
ZipEntries parse_zip(std::span<const std::byte> bytes, std::string_view file);

}  // namespace ptrain
