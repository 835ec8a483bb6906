// What the control groups around the process (a container's, a scheduler's) leave it of the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ptrain {

struct ControlGroupLimits {
  std::optional<double> cpus;                        // CPU time over time, such as 1.5; absent: no quota
  std::optional<std::int64_t> memory_bytes;          // smallest limit; absent: none
  std::optional<std::int64_t> memory_bytes_to_take;  // least that a limit leaves, page cache not counted as used
};

/// Limits of the process's group and of every group around it, of version 2 and of version 1's hierarchies. `root` is
/// where control groups are mounted, `membership` the file that names the process's. What cannot be read does not
/// limit. Source: Linux, admin-guide/cgroup-v2 and cgroup-v1/memory, scheduler/sched-bwc.
ControlGroupLimits control_group_limits(const std::filesystem::path& root = "/sys/fs/cgroup",
                                        const std::filesystem::path& membership = "/proc/self/cgroup");

}  // namespace ptrain
