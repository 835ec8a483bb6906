#include "core/io/file_identity.h"

#include <sys/stat.h>

namespace ptrain {

FileIdentity identify_file(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

}  // namespace ptrain
