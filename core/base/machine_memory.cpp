#include "core/base/machine_memory.h"

#include "core/base/control_group.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace ptrain {
namespace {

/// A "kB" field of /proc/meminfo in bytes; 0 when absent.
std::int64_t read_meminfo(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t memory_bytes() { return read_meminfo("MemTotal"); }

std::int64_t available_memory_bytes() {
  const std::int64_t free = read_meminfo("MemAvailable");
  const std::int64_t available = free > 0 ? free : memory_bytes();
  return std::min(available, control_group_limits().memory_bytes_to_take.value_or(available));
}

}  // namespace ptrain
