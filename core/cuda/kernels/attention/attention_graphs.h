// Attention as one cuDNN operation (SDPA) in each direction, over padded or packed sequences.
#pragma once

#include "core/cuda/kernels/attention/attention_steps.h"
#include "core/cuda/library/compiled_graph.h"

namespace ptrain::cuda {

/// Bound to q, k, v (where they lie among the tokens of qkv); the lengths, twice; packed, element_offsets of qkv and of
/// out; with dropout, of flash seed and offset, of flash_mask the mask; out; lse. The number of packed tokens is not in
/// the graph.
CudnnGraph attention_graph(const CudnnTarget& target, const AttentionExtents& e, const AttentionAttributes& attributes);
/// Bound to q, k, v; the lengths, twice; the offsets, packed; seed and offset, or the mask; out; dout; lse; dq, dk, dv
/// (among the tokens of dqkv).
CudnnGraph attention_grad_graph(const CudnnTarget& target, const AttentionExtents& e,
                                const AttentionAttributes& attributes, bool deterministic);

}  // namespace ptrain::cuda
