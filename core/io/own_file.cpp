#include "core/io/own_file.h"

#include "core/base/errors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// Why `status` is not a safe file of type `kind`, called `name`; empty: it is.
std::string describe_problem(const struct stat& status, mode_t kind, const char* name) {
  if ((status.st_mode & S_IFMT) != kind) return fmt::format("it is not a {}", name);
  if (status.st_uid != ::geteuid() && status.st_uid != 0) return "it belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users may write it (chmod go-w)";
  return {};
}

}  // namespace

OwnFile read_own_file(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return {std::nullopt, errno == ENOENT || errno == ENOTDIR ? std::string{} : std::strerror(errno)};
  }
  if (std::string problem = describe_problem(status, S_IFREG, "regular file"); !problem.empty()) return {{}, problem};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return {std::nullopt, std::strerror(errno)};
  OwnFile file;
  std::string content;
  if (::fstat(descriptor, &status) == 0) file.problem = describe_problem(status, S_IFREG, "regular file");
  if (file.problem.empty()) {
    content.resize(static_cast<std::size_t>(status.st_size));
    std::size_t used = 0;
    ssize_t got = 1;
    while (used < content.size() && got > 0) {
      got = ::read(descriptor, content.data() + used, content.size() - used);
      if (got > 0) used += static_cast<std::size_t>(got);
    }
    if (used == content.size()) {
      file.content = std::move(content);
    } else {
      file.problem = got < 0 ? std::strerror(errno) : "it is cut short";
    }
  }
  ::close(descriptor);
  return file;
}

std::string folder_problem(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return {};
  return describe_problem(status, S_IFDIR, "folder");
}

void make_own_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return;
  fail("cannot create the folder {}: {}", folder.string(), std::strerror(errno));
}

}  // namespace ptrain
