#include "core/base/gpu_datasheet.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

TEST(GpuDatasheet, KnowsTheFormsOfAModelApart) {
  EXPECT_EQ(datasheet_peak_flops("NVIDIA H200", DType::bf16, false), 989.5e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA H200 NVL", DType::f16, false), 835.5e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA H100 80GB HBM3", DType::f16, false), 989.5e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA H100 PCIe", DType::f16, false), 756.5e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA A100-SXM4-80GB", DType::f16, false), 312e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA A10", DType::f16, false), 125e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA L40S", DType::f16, false), 362e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA L4", DType::f16, false), 121e12);
}

TEST(GpuDatasheet, Fp32HasTensorCoresOnlyWithTf32) {
  EXPECT_EQ(datasheet_peak_flops("NVIDIA H200", DType::f32, false), 67e12);
  EXPECT_EQ(datasheet_peak_flops("NVIDIA H200", DType::f32, true), 494.5e12);
}

TEST(GpuDatasheet, SaysNothingOfUnknownGpusAndOfParts) {
  EXPECT_FALSE(datasheet_peak_flops("NVIDIA A10G", DType::f16, false));
  EXPECT_FALSE(datasheet_peak_flops("NVIDIA GeForce RTX 4090", DType::f16, false));
  EXPECT_FALSE(datasheet_peak_flops("NVIDIA H200 MIG 1g.18gb", DType::f16, false));
  EXPECT_FALSE(datasheet_peak_flops("", DType::f16, false));
}

TEST(GpuDatasheet, KnowsAModelAsUsersWriteIt) {
  EXPECT_DOUBLE_EQ(datasheet_rates("h200")->bandwidth, 4.8e12);
  EXPECT_DOUBLE_EQ(datasheet_rates("NVIDIA A100-SXM4-80GB")->bandwidth, 2.039e12);
  EXPECT_DOUBLE_EQ(datasheet_rates("a100")->bandwidth, 1.555e12);
  EXPECT_FALSE(datasheet_rates("h20"));
}

}  // namespace
}  // namespace ptrain
