#include "core/io/gzip.h"

#include "core/base/errors.h"
#include "core/io/descriptor.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

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

/// Returns the error's number; 0: all was written.
int write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

bool is_gzip(int descriptor) {
  constexpr std::array<unsigned char, 3> gzip{0x1f, 0x8b, 8};  // and the only method there is
  std::array<unsigned char, 3> start{};
  return ::pread(descriptor, start.data(), start.size(), 0) == std::ssize(start) && start == gzip;
}

void unpack_gzip(const fs::path& path, int descriptor, const std::function<void(std::span<const std::byte>)>& take) {
  constexpr unsigned buffer = 1 << 20;
  const int copy = ::dup(descriptor);
  if (copy < 0 || ::lseek(copy, 0, SEEK_SET) < 0) throw UnreadableFile(path, std::strerror(errno));
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(::gzdopen(copy, "rb"), ::gzclose_r);
  if (!file) {
    ::close(copy);
    throw UnreadableFile(path, "no memory to unpack it");
  }
  ::gzbuffer(file.get(), buffer);
  std::vector<std::byte> piece(buffer);
  int got = 0;
  while ((got = ::gzread(file.get(), piece.data(), buffer)) > 0) {
    take(std::span(piece).first(static_cast<std::size_t>(got)));
  }
  int code = Z_OK;
  const char* const text = ::gzerror(file.get(), &code);
  if (code == Z_BUF_ERROR) throw UnreadableFile(path, "its compressed data are cut off");  // with got 0 too
  if (got == 0) return;
  throw UnreadableFile(
      path, code == Z_ERRNO ? std::strerror(errno) : fmt::format("its compressed data are damaged ({})", text));
}

OpenFile unpack_to_temporary_file(const fs::path& path, int descriptor) {
  const char* const named = std::getenv("TMPDIR");
  const fs::path folder = named != nullptr && *named != '\0' ? named : "/tmp";
  Descriptor file(open_temporary_file(folder));
  OpenFile unpacked;
  const auto refuse = [&](int error) {
    fail("{}: cannot be unpacked into {}: {}; TMPDIR names another folder", path.string(), folder.string(),
         std::strerror(error));
  };
  if (file.get() < 0) refuse(errno);
  unpack_gzip(path, descriptor, [&](std::span<const std::byte> bytes) {
    if (const int error = write_all(file.get(), bytes)) refuse(error);
    unpacked.bytes += bytes.size();
  });
  unpacked.descriptor = file.release();
  return unpacked;
}

std::string read_unpacked_file(const fs::path& path, WebPages pages) {
  const Descriptor file(open_for_reading(path, pages).descriptor);
  if (!is_gzip(file.get())) return read_file(path, pages);
  std::string content;
  unpack_gzip(path, file.get(), [&](std::span<const std::byte> bytes) {
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  return content;
}

fs::path remove_gzip_ending(const fs::path& path) {
  return path.extension() == ".gz" ? path.parent_path() / path.stem() : path;
}

}  // namespace ptrain
