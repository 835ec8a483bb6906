// All-reduce bandwidth without other load, by the definitions of NVIDIA's nccl-tests.
#pragma once

#include "core/exec/backend.h"

namespace ptrain {

struct AllReduceRate {
  std::int64_t bytes = 0;          // of the buffer, fp32
  int iterations = 0;              // timed ones
  double seconds = 0;              // of one
  double algorithm_bandwidth = 0;  // bytes / seconds
  double bus_bandwidth = 0;        // algorithm_bandwidth * 2 (n - 1) / n: the load of each rank's link, for any n
};

/// 2 (n - 1) / n, nccl-tests' factor for all-reduces.
double bus_factor(int world_size);

/// Times all-reduces of `bytes` on the backend's device; every rank calls it. Returns this rank's rate.
AllReduceRate measure_all_reduce(Collectives& collectives, Backend& backend, std::int64_t bytes);

}  // namespace ptrain
