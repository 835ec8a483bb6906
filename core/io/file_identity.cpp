#include "core/io/file_identity.h"

#include <sys/stat.h>

namespace ptrain {

namespace {

FileIdentity make_identity(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

}  // namespace

FileIdentity identify_file(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? make_identity(status) : FileIdentity{};
}

FileIdentity identify_file(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? make_identity(status) : FileIdentity{};
}

}  // namespace ptrain
