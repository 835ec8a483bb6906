#include "core/base/control_group.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t no_limit = std::int64_t{1} << 60;  // version 1 writes a number near 2^63 for "no limit"

/// The first number of a file; empty when it has none ("max") or cannot be read.
std::optional<std::int64_t> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

template <typename Number>
void lower(std::optional<Number>& least, Number value) {
  least = least ? std::min(*least, value) : value;
}

/// "quota period", microseconds; a quota of "max" or -1 is none.
void add_cpu_quota(std::istream&& text, ControlGroupLimits& limits) {
  double quota = 0, period = 0;
  if (text >> quota >> period && quota > 0 && period > 0) lower(limits.cpus, quota / period);
}

/// Page cache that the kernel frees before a group runs out of memory: the sum of `names` in memory.stat.
std::int64_t read_page_cache(const fs::path& group, std::initializer_list<std::string_view> names) {
  std::ifstream file(group / "memory.stat");
  std::int64_t sum = 0, bytes = 0;
  for (std::string name; file >> name >> bytes;) {
    if (std::find(names.begin(), names.end(), name) != names.end()) sum += bytes;
  }
  return sum;
}

void add_memory(std::optional<std::int64_t> limit, std::optional<std::int64_t> used, std::int64_t cache,
                ControlGroupLimits& limits) {
  if (!limit || *limit < 0 || *limit >= no_limit) return;
  lower(limits.memory_bytes, *limit);
  const std::int64_t kept = std::max<std::int64_t>(0, used.value_or(0) - cache);
  lower(limits.memory_bytes_to_take, std::max<std::int64_t>(0, *limit - kept));
}

void add_version_2(const fs::path& group, ControlGroupLimits& limits) {
  add_cpu_quota(std::ifstream(group / "cpu.max"), limits);
  add_memory(read_number(group / "memory.max"), read_number(group / "memory.current"),
             read_page_cache(group, {"inactive_file", "active_file"}), limits);
}

void add_version_1_cpu(const fs::path& group, ControlGroupLimits& limits) {
  const auto quota = read_number(group / "cpu.cfs_quota_us"), period = read_number(group / "cpu.cfs_period_us");
  if (quota && period)
    add_cpu_quota(std::istringstream(std::to_string(*quota) + " " + std::to_string(*period)), limits);
}

void add_version_1_memory(const fs::path& group, ControlGroupLimits& limits) {
  add_memory(read_number(group / "memory.limit_in_bytes"), read_number(group / "memory.usage_in_bytes"),
             read_page_cache(group, {"total_inactive_file", "total_active_file"}), limits);
}

using AddLimits = std::function<void(const fs::path&, ControlGroupLimits&)>;

/// `name` and every ancestor group. In a container the name may be the host's, of which only the root is mounted.
void for_each_group(const fs::path& mount, const std::string& name, ControlGroupLimits& limits, const AddLimits& add) {
  fs::path group = fs::path(name).relative_path().lexically_normal();
  if (group.begin() != group.end() && *group.begin() == "..") group.clear();
  for (; group.has_relative_path() && group != "."; group = group.parent_path()) add(mount / group, limits);
  add(mount, limits);
}

}  // namespace

ControlGroupLimits control_group_limits(const fs::path& root, const fs::path& membership) {
  ControlGroupLimits limits;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // ID:CONTROLLERS:GROUP
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) {
      for_each_group(root, group, limits, add_version_2);
      for_each_group(root / "unified", group, limits, add_version_2);
      continue;
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      const fs::path mount = fs::exists(root / name) ? root / name : root / controllers;
      if (name == "cpu") for_each_group(mount, group, limits, add_version_1_cpu);
      if (name == "memory") for_each_group(mount, group, limits, add_version_1_memory);
    }
  }
  return limits;
}

}  // namespace ptrain
