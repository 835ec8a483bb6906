// Attention as one cuDNN operation (SDPA) in each direction, over padded or packed sequences.
#pragma once

#include "core/cuda/kernels/attention/attention_steps.h"
#include "core/cuda/library/compiled_graph.h"

namespace ptrain::cuda {

/// Bound to q, k, v (strided within the tokens of qkv); the lengths, twice; if packed, element_offsets of qkv and of
/// out; with dropout, seed and offset (flash) or the mask (flash_mask); out; lse. The graph does not depend on the
/// number of packed tokens.
CudnnGraph attention_graph(const CudnnTarget& target, const AttentionExtents& e, const AttentionAttributes& attributes);
/// Bound to q, k, v; the lengths, twice; if packed, the offsets; seed and offset, or the mask; out; dout; lse; dq, dk,
/// dv (within the tokens of dqkv).
CudnnGraph attention_grad_graph(const CudnnTarget& target, const AttentionExtents& e,
                                const AttentionAttributes& attributes, bool deterministic);

}  // namespace ptrain::cuda
