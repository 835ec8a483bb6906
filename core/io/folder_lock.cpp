#include "core/io/folder_lock.h"

#include "core/base/errors.h"
#include "core/base/host_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

std::string make_own_name() { return fmt::format("process {} on {}", ::getpid(), host_name()); }

std::string read_holder(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size() - 1, 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

/// Locks the file; waits a moment for those that only ask whether it is locked.
bool lock_soon(int descriptor) {
  constexpr int attempts = 5;
  for (int attempt = 0; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK || attempt == attempts) return false;
    ::usleep(10'000);
  }
  return true;
}

/// Whether the name still leads to the open file: a holder removes it when it ends.
bool is_current(int descriptor, const fs::path& path) {
  struct stat open_file {
  }, named{};
  return ::fstat(descriptor, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) : path_(folder / ".lock") {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("cannot write in {}: {}", folder.string(), error.message());
  do {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) fail("cannot write in {}: {}", folder.string(), std::strerror(errno));
    if (lock_soon(descriptor_)) continue;
    if (errno != EWOULDBLOCK) return;
    const std::string holder = read_holder(descriptor_);
    ::close(std::exchange(descriptor_, -1));
    fail("{}: {} is writing there; wait for it or give another folder", folder.string(), holder);
  } while (!is_current(descriptor_, path_));
  const std::string name = make_own_name();
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, name.data(), name.size(), 0);
}

bool FolderLock::is_held(const fs::path& folder) {
  const int descriptor = ::open((folder / ".lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace ptrain
