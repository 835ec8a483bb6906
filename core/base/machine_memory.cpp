#include "core/base/machine_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace ptrain {
namespace {

/// "kB" figure of /proc/meminfo in bytes; 0 when absent.
std::int64_t meminfo(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t memory_bytes() { return meminfo("MemTotal"); }

std::int64_t available_memory_bytes() {
  const std::int64_t free = meminfo("MemAvailable");
  const std::int64_t available = free > 0 ? free : memory_bytes();
  std::ifstream limit_file("/sys/fs/cgroup/memory.max"), used_file("/sys/fs/cgroup/memory.current");
  std::int64_t limit = 0, used = 0;
  if (!(limit_file >> limit) || !(used_file >> used)) return available;  // no group, or "max": no limit
  return std::clamp<std::int64_t>(limit - used, 0, available);
}

}  // namespace ptrain
