// Lists the members of a tar archive from their headers: ustar, GNU's long names, and paths and sizes of pax headers
// (POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar manual, "Basic Tar Format").
#pragma once

#include "core/data/shards/byte_source.h"

#include <cstdint>
#include <functional>
#include <string>

namespace ptrain {

struct TarMember {
  std::string path;
  std::uint64_t offset = 0;  // of its content
  std::uint64_t size = 0;    // bytes of it
  bool is_file = false;      // else a directory, a link or a device
};

/// Calls `visit` for each member in the order of the archive, and of archives that follow its end mark. Throws
/// Error with the archive's name and the byte when a header's checksum or number is wrong, or when the archive ends
/// within a member or without its end mark.
void read_tar(const ByteSource& archive, const std::function<void(const TarMember&)>& visit);

}  // namespace ptrain
