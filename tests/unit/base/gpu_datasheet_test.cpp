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
  EXPECT_FALSE(datasheet_peak_flops("NVIDIA GeForce RTX 3090", DType::f16, false));
  EXPECT_FALSE(datasheet_peak_flops("NVIDIA H200 MIG 1g.18gb", DType::f16, false));
  EXPECT_FALSE(datasheet_peak_flops("", DType::f16, false));
}

TEST(GpuDatasheet, KnowsAModelAsUsersWriteIt) {
  EXPECT_DOUBLE_EQ(datasheet_rates("h200")->bandwidth, 4.8e12);
  EXPECT_DOUBLE_EQ(datasheet_rates("NVIDIA A100-SXM4-80GB")->bandwidth, 2.039e12);
  EXPECT_DOUBLE_EQ(datasheet_rates("NVIDIA A100-SXM-64GB")->bandwidth, 1.555e12);
  EXPECT_EQ(find_datasheet("a100")->model, "A100-SXM4-80GB") << "the fastest of five";
  EXPECT_EQ(find_datasheet("h200")->model, "H200");
  const auto h100 = find_datasheet("h100");
  EXPECT_EQ(h100->model, "H100 80GB HBM3");
  EXPECT_EQ(h100->slower, (std::vector<std::string_view>{"H100 NVL", "H100 PCIe"}));
  EXPECT_FALSE(datasheet_rates("h20"));
  EXPECT_FALSE(datasheet_rates("h"));
}

TEST(GpuDatasheet, SaysWhatAMachineIsAcceptedBy) {
  const auto h100 = find_datasheet("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(h100->power_limit_watts, 700);
  EXPECT_EQ(h100->pcie_generation, 5);
  EXPECT_EQ(h100->pcie_width, 16);
  EXPECT_EQ(h100->nvlink_links, 18);
  EXPECT_EQ(find_datasheet("NVIDIA A100-SXM4-40GB")->memory_gb, 40);
  EXPECT_EQ(find_datasheet("NVIDIA A100-PCIE-40GB")->power_limit_watts, 250);
  EXPECT_EQ(find_datasheet("Tesla V100-SXM2-32GB")->rates.low, 125e12);
  EXPECT_FALSE(find_datasheet("Tesla T4")->has_bf16);
  EXPECT_FALSE(find_datasheet("NVIDIA L4")->nvlink_links);  // it has none
}

}  // namespace
}  // namespace ptrain
