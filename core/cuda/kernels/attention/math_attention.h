// Attention composed of batched products and row kernels, with the scores in memory: attention: math, and flash's
// fallback where cuDNN has no plan (fp32, odd head widths).
#pragma once

#include "core/cuda/device/workspace.h"
#include "core/cuda/kernels/attention/attention_steps.h"
#include "core/cuda/library/gemm.h"

namespace ptrain::cuda {

class MathAttention {
 public:
  MathAttention(const KernelContext& context, Device& device, const AttentionAttributes& attributes);

  std::size_t workspace_bytes() const { return layout_.bytes(); }
  std::string implementation() const { return scores_gemm_->implementation(); }
  /// rng: null without dropout.
  void run(const void* qkv, const AttentionSequences& sequences, const void* rng, void* out, float* lse,
           void* workspace);

 private:
  Device& device_;
  AttentionAttributes attributes_;
  AttentionExtents e_;
  WorkspaceLayout layout_;
  WorkspacePart qkv_, scores_, weights_, mask_, out_, gemm_workspace_;
  std::unique_ptr<Gemm> scores_gemm_, out_gemm_;
};

class MathAttentionGrad {
 public:
  MathAttentionGrad(const KernelContext& context, Device& device, const AttentionAttributes& attributes);

  std::size_t workspace_bytes() const { return layout_.bytes(); }
  std::string implementation() const { return scores_gemm_->implementation(); }
  void run(const void* qkv, const AttentionSequences& sequences, const void* rng, const float* lse, const void* dout,
           void* dqkv, void* workspace);

 private:
  Device& device_;
  AttentionAttributes attributes_;
  AttentionExtents e_;
  WorkspaceLayout layout_;
  WorkspacePart qkv_, dout_, scores_, dweights_, weights_, dscores_, mask_, dqkv_, gemm_workspace_;
  std::unique_ptr<Gemm> scores_gemm_, dweights_gemm_, dq_gemm_, dk_gemm_, dv_gemm_;
};

}  // namespace ptrain::cuda
