#include "core/cpu/cpu_backend.h"
#include "tests/test_backend.h"

namespace ptrain::cpu {

std::unique_ptr<Backend> make_backend_avx2();

}  // namespace ptrain::cpu

namespace ptrain::testing {

std::unique_ptr<Backend> make_test_backend() { return cpu::make_backend_avx2(); }

PlanOptions test_plan_options() { return {}; }

}  // namespace ptrain::testing
