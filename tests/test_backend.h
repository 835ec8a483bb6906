// The backend under test: tests that any backend must pass are compiled once and linked with one of its definitions.
#pragma once

#include "core/exec/backend.h"

namespace ptrain::testing {

/// The CPU's in tests/cpu/cpu_backend.cpp, CUDA's in tests/device/cuda_backend.cpp.
std::unique_ptr<Backend> make_test_backend();

}  // namespace ptrain::testing
