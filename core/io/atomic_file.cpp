#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_start = 512;                  // of a file, that shows what it is
constexpr std::size_t largest_call = std::size_t{1} << 30;  // read() and write() stop a little below 2 GiB

/// Makes the rename itself durable. Some file systems cannot flush a directory; then nothing is done.
void flush_directory(const fs::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

fs::path find_directory(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

std::string temporary_prefix(const fs::path& target) { return fmt::format(".{}.tmp.", target.filename().string()); }

/// Removes the temporary files of writers of `target` that were killed: a writer holds a lock on its file while it
/// lives, on whatever machine that is.
void remove_abandoned(const fs::path& target) {
  const std::string prefix = temporary_prefix(target);
  std::error_code ignored;
  for (fs::directory_iterator entry(find_directory(target), ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    const std::string rest = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
    if (rest.find('-') == rest.npos || rest.find_first_not_of("0123456789-") != rest.npos) continue;
    const int descriptor = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(descriptor);
  }
}

/// Whether a file that begins so is HTML, or an error message in XML.
bool is_web_page(std::string_view start) {
  if (start.starts_with("\xef\xbb\xbf")) start.remove_prefix(3);
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  if (!start.starts_with('<')) return false;
  std::string lower(start);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto has = [&](std::string_view tag) { return lower.find(tag) != lower.npos; };
  return lower.starts_with("<!doctype html") || lower.starts_with("<html") ||
         (lower.starts_with("<?xml") && (has("<html") || has("<error>")));
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& path) : path_(path), target_(path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail("cannot write {}: it is a directory", path.string());
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_with(errno);
    return;
  }
  const fs::path resolved = fs::weakly_canonical(path, ignored);
  if (!resolved.empty()) target_ = resolved;
  remove_abandoned(target_);
  do {
    open_temporary();
  } while (temporary_.empty());
}

/// Leaves `temporary_` empty if another process took the new file for an abandoned one.
void AtomicFile::open_temporary() {
  static std::atomic<int> counter{0};
  temporary_ =
      find_directory(target_) / fmt::format("{}{}-{}", temporary_prefix(target_), ::getpid(), counter.fetch_add(1));
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail_with(errno);
  }
  const bool is_taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat status {};
  if (is_taken || (::fstat(descriptor_, &status) == 0 && status.st_nlink == 0)) discard();
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail_with(int error) const {
  const std::string directory = find_directory(path_).string();
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      fail("cannot write {}: the disk is full ({})", path_.string(), std::strerror(error));
    case EROFS:
    case EACCES:
    case EPERM:
      fail("cannot write {}: no permission to write in {} ({})", path_.string(), directory, std::strerror(error));
    case ENOENT:
      fail("cannot write {}: the directory {} does not exist", path_.string(), directory);
    default:
      fail("cannot write {}: {}", path_.string(), std::strerror(error));
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  invariant(descriptor_ >= 0, "AtomicFile written to after commit");
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), largest_call));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::flush() {
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) fail_with(errno);
}

void AtomicFile::commit(Flush flush) {
  invariant(descriptor_ >= 0, "AtomicFile committed twice");
  if (flush == Flush::yes && !temporary_.empty() && ::fsync(descriptor_) != 0) fail_with(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_with(errno);  // network file systems report a full disk here
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_with(errno);
  temporary_.clear();
  if (flush == Flush::yes) flush_directory(find_directory(target_));
}

void write_file_atomic(const fs::path& path, std::string_view content, Flush flush) {
  AtomicFile file(path);
  file.write(content);
  file.commit(flush);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) fail("{}: cannot create the folder: {}", folder.string(), error.message());
}

std::string_view describe_stand_in(std::string_view bytes, WebPages pages) {
  if (bytes.starts_with("version https://git-lfs.")) {
    return "it is a Git LFS pointer, not the file that it stands for; run git lfs pull there";
  }
  if (pages == WebPages::refuse && is_web_page(bytes.substr(0, longest_start))) {
    return "it is a web page, as servers answer in place of a file; download the file again";
  }
  return {};
}

void refuse_stand_in(const fs::path& path, std::string_view bytes, WebPages pages) {
  if (const std::string_view what = describe_stand_in(bytes, pages); !what.empty()) throw UnreadableFile(path, what);
}

OpenFile open_for_reading(const fs::path& path, WebPages pages) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO would wait for a writer
  if (descriptor < 0) throw UnreadableFile(path, std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw UnreadableFile(path, S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file");
  }
  std::array<char, longest_start> start;
  const ssize_t got = ::pread(descriptor, start.data(), start.size(), 0);
  try {
    refuse_stand_in(path, {start.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))}, pages);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  return {descriptor, static_cast<std::size_t>(std::max<off_t>(status.st_size, 0))};
}

std::ifstream open_stream(const fs::path& path) {
  ::close(open_for_reading(path).descriptor);
  return std::ifstream(path, std::ios::binary);
}

std::string read_file(const fs::path& path, WebPages pages) {
  const auto [descriptor, expected] = open_for_reading(path, pages);
  std::string content;
  std::size_t used = 0;
  while (true) {  // grows as needed: a file may grow
    if (used == content.size()) content.resize(std::max(expected + 1, used * 2 + 4096));
    const ssize_t got = ::read(descriptor, content.data() + used, std::min(content.size() - used, largest_call));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(descriptor);
      throw UnreadableFile(path, std::strerror(error));
    }
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  ::close(descriptor);
  content.resize(used);
  return content;
}

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return ::libdeflate_crc32(before, bytes.data(), bytes.size());
}

std::string quoted_name(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ptrain
