#include "core/cuda/cuda_backend.h"
#include "tests/test_backend.h"

namespace ptrain::testing {

std::unique_ptr<Backend> make_test_backend() { return cuda::make_backend(); }

PlanOptions test_plan_options() {
  PlanOptions options;
  options.kernels.exhaustive_search = false;
  return options;
}

}  // namespace ptrain::testing
