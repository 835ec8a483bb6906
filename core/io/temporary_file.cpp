#include "core/io/temporary_file.h"

#include "core/base/errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

int open_temporary_file(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = (folder / "ptrain-XXXXXX").string();  // where the file system has none without a name
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

fs::path get_temporary_folder() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != '\0' ? named : "/tmp";
}

TemporaryFile::TemporaryFile(std::string subject)
    : subject_(std::move(subject)), folder_(get_temporary_folder()), file_(open_temporary_file(folder_)) {
  if (file_.get() < 0) refuse(errno);
}

void TemporaryFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) refuse(errno);
    if (written <= 0) continue;
    bytes_ += static_cast<std::size_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void TemporaryFile::read(std::size_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno != EINTR) refuse(errno);
    if (got == 0) refuse(EIO);  // it has lost bytes
    if (got < 0) continue;
    offset += static_cast<std::size_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void TemporaryFile::refuse(int error) const {
  fail("{} into {}: {}; TMPDIR names another folder", subject_, folder_.string(), std::strerror(error));
}

}  // namespace ptrain
