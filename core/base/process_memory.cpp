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

}  // namespace ptrain
