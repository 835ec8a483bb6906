// What data sheets promise of NVIDIA GPUs' arithmetic.
#pragma once

#include "core/base/dtype.h"

#include <optional>
#include <string_view>

namespace ptrain {

/// FLOP/s of dense matrix products in `dtype` (f32: with TF32 if `tf32`), which no sparsity doubles, on the whole GPU
/// that CUDA calls `gpu_name` ("NVIDIA H200"). Absent for a GPU that is not in the table (it has data-centre GPUs from
/// Ampere on) and for a part of one (MIG). Source: NVIDIA's data sheets.
std::optional<double> datasheet_peak_flops(std::string_view gpu_name, DType dtype, bool tf32);

}  // namespace ptrain
