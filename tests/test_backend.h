// The backend under test: tests that any backend must pass are compiled once and linked with one of its definitions.
#pragma once

#include "core/exec/plan.h"

namespace ptrain::testing {

/// The CPU's in tests/cpu/cpu_backend.cpp, CUDA's in tests/device/cuda_backend.cpp.
std::unique_ptr<Backend> make_test_backend();
/// How kernels of a test are chosen there: a GPU's searches take seconds each, so that they have tests of their own.
PlanOptions test_plan_options();

}  // namespace ptrain::testing
