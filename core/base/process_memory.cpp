#include "core/base/process_memory.h"

#include <fstream>
#include <limits>
#include <string>

namespace ptrain {

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key; status.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::int64_t kib = 0;
    if (key == "VmHWM:" && status >> kib) memory.peak_resident_bytes = kib << 10;
    if (key == "VmRSS:" && status >> kib) memory.resident_bytes = kib << 10;
  }
  return memory;
}

void restart_process_memory_peak() {
  constexpr const char* peak_only = "5";  // proc(5), clear_refs
  std::ofstream("/proc/self/clear_refs") << peak_only;
}

}  // namespace ptrain
