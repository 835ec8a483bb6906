#include "core/report/metrics_tail.h"

#include "core/io/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace ptrain {
namespace {

/// The bytes from `offset` to the end of the file as it is now.
std::string read_from(int descriptor, off_t offset, off_t size) {
  std::string bytes(static_cast<std::size_t>(size - offset), '\0');
  std::size_t count = 0;
  while (count < bytes.size()) {
    const ssize_t part =
        ::pread(descriptor, bytes.data() + count, bytes.size() - count, offset + static_cast<off_t>(count));
    if (part <= 0) break;
    count += static_cast<std::size_t>(part);
  }
  bytes.resize(count);
  return bytes;
}

}  // namespace

MetricsTail::News MetricsTail::read() {
  News news;
  const Descriptor file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  const bool is_there = file.get() >= 0 && ::fstat(file.get(), &found) == 0 && S_ISREG(found.st_mode);
  if (file_number_ != 0 && (!is_there || found.st_ino != file_number_ || found.st_size < offset_)) {
    news.restarted = true;
    file_number_ = 0;
    offset_ = 0;
  }
  if (!is_there) return news;
  file_number_ = found.st_ino;
  const std::string bytes = read_from(file.get(), offset_, found.st_size);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = bytes.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view text = std::string_view(bytes).substr(begin, end - begin);
    if (auto line = parse_metrics_line(nlohmann::json::parse(text, nullptr, false))) news.lines.push_back(*line);
  }
  offset_ += static_cast<off_t>(begin);
  return news;
}

}  // namespace ptrain
