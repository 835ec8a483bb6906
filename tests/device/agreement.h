// CUDA against the CPU: the same op on both backends.
#pragma once

#include "tests/ops/op_case.h"

namespace ptrain::testing {

inline constexpr DType floating_dtypes[] = {DType::f32, DType::bf16, DType::f16};

/// The CPU as it runs by default.
TestBackend on_cpu();

/// gtest expectation that outputs and gradients agree but for rounding in `dtype`; `on` says how the GPU's kernels are
/// chosen.
void expect_agreement(const OpCase& c, DType dtype, const TestBackend& on = {});

}  // namespace ptrain::testing
