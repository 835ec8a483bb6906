#include "core/report/metrics_log.h"

#include "core/io/atomic_file.h"

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

MetricsLog::MetricsLog(const std::filesystem::path& path, std::int64_t keep_through_step)
    : file_(path, read_kept_lines(path, keep_through_step)) {}

void MetricsLog::write(const MetricsLine& line) {
  file_.append(to_json(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace ptrain
