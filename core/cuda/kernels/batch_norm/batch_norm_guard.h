// Compares the statistics of persistent batch norms with plain ones during a run.
#pragma once

#include "core/cuda/device/device_array.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/primitives/channel_extent.h"
#include "core/exec/kernel.h"

namespace ptrain::cuda {

/// The device counts a norm's runs itself and compares one in every `every`, so that the launches are the same in all
/// runs and can be recorded; in other runs they return at once.
class BatchNormGuard {
 public:
  /// x is [rows,channels] of `dtype`; every `every`th run is compared, the first one included.
  BatchNormGuard(const Device& device, DType dtype, std::int64_t rows, std::int64_t channels, float epsilon,
                 std::int64_t every);

  std::size_t workspace_bytes() const { return layout_.bytes(); }
  /// Enqueues the comparison of x's statistics with `mean` and `invstd`.
  void run(const void* x, const float* mean, const float* invstd, void* workspace) const;
  /// The result so far; waits for the device.
  GuardFinding finding() const;

  /// In device memory.
  struct State {
    unsigned long long runs = 0;
    unsigned long long compared = 0;
    unsigned finished_blocks = 0;  // of the current run
    float worst = 0;               // not negative, so its bits order like its values
  };

 private:
  const Device& device_;
  DType dtype_;
  ChannelExtent extent_;
  float epsilon_;
  unsigned long long every_;
  DeviceArray<State> state_;
  WorkspaceLayout layout_;
  WorkspacePart partial_;
};

}  // namespace ptrain::cuda
