#include "core/report/metrics_log.h"

#include "core/base/errors.h"
#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace ptrain {
namespace {

/// The complete lines of a log up to a step.
std::string read_kept_lines(const std::filesystem::path& path, std::int64_t through_step) {
  if (through_step == 0 || !std::filesystem::exists(path)) return {};
  std::string kept;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    const bool has_step = entry.is_object() && entry.contains("step") && entry["step"].is_number_integer();
    if (has_step && entry["step"].get<std::int64_t>() <= through_step) kept += line + "\n";
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, std::int64_t keep_through_step) : path_(path) {
  make_folder(path.parent_path());
  write_file_atomic(path, read_kept_lines(path, keep_through_step));
  descriptor_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0) fail("{}: cannot be written: {}", path.string(), std::strerror(errno));
}

MetricsLog::~MetricsLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

void MetricsLog::write(const MetricsLine& line) {
  struct stat status {};
  if (fstat(descriptor_, &status) == 0 && status.st_nlink == 0) {
    fail("{}: it or its folder was removed while the run wrote to it", path_.string());
  }
  const std::string text = to_json(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(descriptor_, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("{}: cannot be written: {}", path_.string(), std::strerror(errno));
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace ptrain
