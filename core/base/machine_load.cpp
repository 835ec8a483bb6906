#include "core/base/machine_load.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>

namespace ptrain {
namespace {

constexpr double shortest_watch_seconds = 0.2;

/// CPU time of all threads of this process.
double own_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

bool OtherLoad::slows(int threads) const {
  constexpr double always_there = 0.25;  // shells, daemons, this process's own helpers
  return cores + stolen_cores + threads > usable_cores + always_there && cores + stolen_cores > always_there;
}

std::string OtherLoad::text() const {
  std::string text = fmt::format("other programs kept {:.1f} of {} cores busy", cores, usable_cores);
  if (stolen_cores >= 0.05) text += fmt::format(", and the hypervisor gave {:.1f} to other machines", stolen_cores);
  return text;
}

std::string OtherLoad::warning() const { return text() + " while measuring: an idle machine is faster"; }

LoadWatch::LoadWatch(std::filesystem::path statistics)
    : statistics_(std::move(statistics)), before_(read()), own_before_(own_seconds()) {}

LoadWatch::Times LoadWatch::read() const {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const bool restricted = sched_getaffinity(0, sizeof usable, &usable) == 0;
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  Times times;
  std::ifstream file(statistics_);
  for (std::string line; std::getline(file, line);) {  // "cpu3 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..."
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name.size() < 4 || !name.starts_with("cpu")) continue;  // "cpu" alone is the sum
    const int index = std::atoi(name.c_str() + 3);
    if (restricted && !CPU_ISSET(static_cast<std::size_t>(index), &usable)) continue;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
    fields >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
    times.busy += (user + nice + system + interrupts + soft_interrupts) / ticks_per_second;
    times.stolen += stolen / ticks_per_second;
    ++times.cores;
  }
  return times;
}

std::optional<OtherLoad> LoadWatch::measure() const {
  const double seconds = watch_.seconds();
  const Times now = read();
  if (seconds < shortest_watch_seconds || now.cores == 0 || now.cores != before_.cores) return std::nullopt;
  const double own = own_seconds() - own_before_;
  return OtherLoad{std::max(0.0, now.busy - before_.busy - own) / seconds,
                   std::max(0.0, now.stolen - before_.stolen) / seconds, now.cores};
}

}  // namespace ptrain
