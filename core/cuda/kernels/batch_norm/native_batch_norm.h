// Batch normalisation by this project's kernels: two passes over the data in each direction, sums in a fixed order.
// Used when persistent batch norm is off, in evaluation, and where cuDNN has no plan.
#pragma once

#include "core/base/dtype.h"
#include "core/cuda/device/device.h"
#include "core/cuda/device/workspace.h"
#include "core/cuda/primitives/channel_extent.h"
#include "core/ops/activation.h"

#include <cstdint>

namespace ptrain::cuda {

class NativeBatchNorm {
 public:
  /// Data is [rows,channels] of `dtype`; per-channel values are f32.
  NativeBatchNorm(const Device& device, DType dtype, std::int64_t rows, std::int64_t channels);

  std::size_t workspace_bytes() const { return layout_.bytes(); }

  struct Forward {
    const void* x;
    const float *gamma, *beta;
    const void* residual;  // null: none
    Activation activation;
    float epsilon;
    void* y;
    std::uint8_t* mask;    // of an activation that is a gate; null: none
    float *mean, *invstd;  // of the batch; train() computes them, nothing else reads them
  };
  /// Computes the statistics of the batch, then y.
  void train(const Forward& tensors, void* workspace) const;
  /// Computes y from given statistics.
  void infer(const Forward& tensors, const float* mean, const float* variance, void* workspace) const;

  /// running = (1 - momentum) running + momentum batch, with the unbiased variance.
  void update_running(const float* mean, const float* invstd, float epsilon, float momentum, float* running_mean,
                      float* running_var) const;

  struct Backward {
    const void *dy, *x;
    const std::uint8_t* mask;  // where there is a residual
    const void* dy_more;       // likewise; null: none
    const float *gamma, *beta, *mean, *invstd;
    void* dx;
    float *dgamma, *dbeta;
    void* dresidual;  // null: none
  };
  void backward(const Backward& tensors, Activation activation, void* workspace) const;

 private:
  template <int n, typename T>
  void train_as(const Forward& tensors, void* workspace) const;
  template <int n, typename T>
  void apply_as(const Forward& tensors, const float* mean, const float* scale) const;
  template <int n, typename T, Activation activation, bool residual>
  void backward_as(const Backward& tensors, void* workspace) const;

  const Device& device_;
  DType dtype_;
  ChannelExtent extent_;
  WorkspaceLayout layout_;
  WorkspacePart partial_, scale_, slope_, offset_;
};

}  // namespace ptrain::cuda
