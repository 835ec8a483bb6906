#include "core/comm/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace ptrain {

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::size_t machine_cores() {
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? static_cast<std::size_t>(cores) : 1;
}

std::vector<int> share_of_cores(const std::vector<int>& cores, int part, int parts) {
  const auto bound = [&](int p) {
    return cores.size() * static_cast<std::size_t>(p) / static_cast<std::size_t>(parts);
  };
  const std::size_t begin = bound(part);
  const std::size_t end = std::max(begin + 1, bound(part + 1));
  return {cores.begin() + static_cast<std::ptrdiff_t>(begin), cores.begin() + static_cast<std::ptrdiff_t>(end)};
}

void stay_on_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<unsigned>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace ptrain
