#include "core/io/appended_file.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ptrain {

AppendedFile::AppendedFile(const std::filesystem::path& path, std::string_view content) : path_(path) {
  make_folder(path.parent_path());
  write_file_atomic(path, content);
  descriptor_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

AppendedFile::~AppendedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void AppendedFile::append(std::string_view bytes) {
  struct stat status {};
  if (fstat(descriptor_, &status) == 0 && status.st_nlink == 0) {
    fail("{}: it or its folder was removed while the run wrote to it", path_.string());
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("{}: cannot be written: {}", path_.string(), std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace ptrain
