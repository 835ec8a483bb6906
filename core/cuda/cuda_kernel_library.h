// The kernels of a GPU, which may be present or only described.
#pragma once

#include "core/cuda/device/device.h"
#include "core/exec/kernel_library.h"

namespace ptrain::cuda {

class CudaKernels : public KernelLibrary {
 public:
  /// `searched_on` identifies, in the search cache, what its choices are valid for.
  CudaKernels(Device& device, const std::string& searched_on) : device_(device), cache_(searched_on) {}

  std::unique_ptr<Kernel> make_kernel(const KernelContext& context) override;
  SearchCache& search_cache() override { return cache_; }
  OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const override;
  DType preferred_low_precision() const override { return DType::f16; }
  /// Not a training batch norm where the persistent kernel is asked for: nothing that cuDNN documents lets its kernel
  /// read dy or x only before it writes over them. tests/device/in_place_test.cpp asks a GPU.
  bool runs_in_place(const Op& op, const KernelOptions& options) const override;
  bool fuses_convolutions() const override { return true; }

 private:
  Device& device_;
  SearchCache cache_;
};

}  // namespace ptrain::cuda
