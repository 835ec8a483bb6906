#include "core/base/parallel.h"

#include "core/base/control_group.h"
#include "core/base/threads.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <vector>

namespace ptrain {

namespace {

thread_local int team = 1;  // size of this thread's OpenMP team, itself included

/// A joined thread counts against the limit until the kernel has removed it.
void wait_until_gone(pid_t thread) {
  std::error_code error;
  const std::filesystem::path folder = fmt::format("/proc/self/task/{}", thread);
  for (int tries = 0; tries < 1000 && std::filesystem::exists(folder, error); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// How many of `threads` can exist at once, the calling thread included. OpenMP would end the process beyond that.
int count_startable(int threads) {
  if (threads <= team) return threads;
  std::promise<void> counted;
  const std::shared_future<void> all = counted.get_future().share();
  std::vector<std::thread> others;
  std::vector<pid_t> ids(static_cast<std::size_t>(threads - team));
  try {
    for (pid_t& id : ids) {
      others.push_back(start_thread([all, &id] {
        id = ::gettid();
        all.wait();
      }));
    }
  } catch (const Error&) {  // use the threads that did start
  }
  counted.set_value();
  for (std::thread& other : others) other.join();
  for (std::size_t i = 0; i < others.size(); ++i) wait_until_gone(ids[i]);
  return team + static_cast<int>(others.size());
}

}  // namespace

int set_thread_count(int threads) {
  omp_set_dynamic(0);  // OMP_DYNAMIC would let every team have another size
  omp_set_num_threads(count_startable(threads));
  int granted = 1;
#pragma omp parallel
  {
#pragma omp single
    granted = omp_get_num_threads();
  }
  omp_set_num_threads(granted);
  if (granted > 1) team = granted;
  return granted;
}

void keep_to_cpu_quota(int processes) {
  const auto cpus = control_group_limits().cpus;
  if (cpus) omp_set_num_threads(std::clamp(static_cast<int>(*cpus / processes), 1, thread_count()));
}

}  // namespace ptrain
