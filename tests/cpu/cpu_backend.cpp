#include "core/cpu/cpu_backend.h"
#include "tests/test_backend.h"

namespace ptrain::testing {

std::unique_ptr<Backend> make_test_backend() { return cpu::make_backend(); }

PlanOptions test_plan_options() { return {}; }

}  // namespace ptrain::testing
