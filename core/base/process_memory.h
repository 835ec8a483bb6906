// Physical memory of this process, as the kernel counts it.
#pragma once

#include <cstdint>

namespace ptrain {

struct ProcessMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t peak_resident_bytes = 0;
};

/// Reads /proc/self/status; zeros where there is none.
ProcessMemory process_memory();

/// Restarts the peak from the present use, where the kernel allows it.
void restart_process_memory_peak();

}  // namespace ptrain
