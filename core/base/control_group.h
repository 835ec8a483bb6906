// The CPU and memory limits that control groups (a container's, a scheduler's) set for the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace ptrain {

struct ControlGroupLimits {
  std::optional<double> cpus;                        // CPU seconds per second, such as 1.5; absent: no quota
  std::optional<std::int64_t> memory_bytes;          // smallest limit; absent: none
  std::optional<std::int64_t> memory_bytes_to_take;  // memory still available under the tightest limit; page cache
                                                     // counts as free
};

/// Limits of the process's group and its ancestors, for cgroup version 2 and version 1. `root` is where control groups
/// are mounted, `membership` the file that names the process's group. An unreadable file sets no limit. Source: Linux,
/// admin-guide/cgroup-v2 and cgroup-v1/memory, scheduler/sched-bwc.
ControlGroupLimits control_group_limits(const std::filesystem::path& root = "/sys/fs/cgroup",
                                        const std::filesystem::path& membership = "/proc/self/cgroup");

}  // namespace ptrain
