// Peak rates from NVIDIA's GPU data sheets.
#pragma once

#include "core/base/dtype.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptrain {

/// Peak rates of a whole GPU: dense matrix products (without sparsity) in FLOP/s, and memory in bytes/s.
struct GpuRates {
  double fp8;  // 0: it has none
  double low;  // fp16 and bf16
  double tf32;
  double fp32;
  double bandwidth;

  /// FLOP/s of products in `dtype`; f32 with TF32 if `tf32_allowed`.
  double flops(DType dtype, bool tf32_allowed) const {
    if (is_low_precision(dtype)) return low;
    return tf32_allowed ? tf32 : fp32;
  }
};

/// Fields that differ among GPUs of that name, or do not apply, are absent.
struct GpuDataSheet {
  std::string_view model;                // as in datasheet_models()
  std::vector<std::string_view> slower;  // others that the same short name fits
  GpuRates rates;
  bool has_bf16 = true;
  std::optional<double> memory_gb;  // 1e9 bytes
  std::optional<double> power_limit_watts;
  std::optional<double> pcie_generation, pcie_width;
  std::optional<double> nvlink_links, nvlink_gb_s;  // of each link in one direction
};

/// The data sheet of the GPU that CUDA calls `gpu_name` ("NVIDIA H200") or a user does ("h200"); of a name that several
/// begin with ("h100"), that of the fastest. Absent for a GPU outside the table (data-centre GPUs from Volta on) and
/// for a MIG partition. Source: NVIDIA's data sheets.
std::optional<GpuDataSheet> find_datasheet(std::string_view gpu_name);

/// Its GpuDataSheet::rates.
std::optional<GpuRates> datasheet_rates(std::string_view gpu_name);

/// GpuRates::flops of that GPU.
std::optional<double> datasheet_peak_flops(std::string_view gpu_name, DType dtype, bool tf32);

/// The models in the table: "B200, GH200, H200 NVL, ...".
std::string datasheet_models();

}  // namespace ptrain
