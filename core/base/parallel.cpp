#include "core/base/parallel.h"

#include "core/base/control_group.h"

namespace ptrain {

int set_thread_count(int threads) {
  omp_set_dynamic(0);  // OMP_DYNAMIC would let every team have another size
  omp_set_num_threads(threads);
  int granted = 1;
#pragma omp parallel
  {
#pragma omp single
    granted = omp_get_num_threads();
  }
  omp_set_num_threads(granted);
  return granted;
}

void keep_to_cpu_quota(int processes) {
  const auto cpus = control_group_limits().cpus;
  if (cpus) omp_set_num_threads(std::clamp(static_cast<int>(*cpus / processes), 1, thread_count()));
}

}  // namespace ptrain
