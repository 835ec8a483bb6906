// The steps around attention's products: gathering and scattering heads, softmax by rows, dropout's mask or a library's
// seed, clearing padding, offsets of packed sequences.
#pragma once

#include "core/base/host_device.h"
#include "core/cuda/device/device.h"
#include "core/ops/math/dropout_math.h"
#include "core/ops/math/sequences.h"
#include "core/ops/text/attention.h"

#include <cstdint>

namespace ptrain::cuda {

/// Extents of one attention problem; `scale` is that of the scores, 1 / sqrt(depth).
struct AttentionExtents : AttentionDims {
  float scale;
  DType dtype;
  bool packed, causal;

  /// From the inputs of an op or its gradient, the first of which are qkv and lengths.
  AttentionExtents(const AttentionAttributes& attributes, std::span<const TensorDesc> inputs);

  PTRAIN_HD std::int64_t rows() const { return batch * heads * length; }  // of scores
  PTRAIN_HD std::int64_t scores() const { return rows() * length; }
  PTRAIN_HD std::int64_t head_elements() const { return rows() * depth; }  // of one of q, k, v by query heads
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * element_size(dtype); }
};

/// The sequences of a run on the device: lengths [B], and offsets if packed.
struct AttentionSequences {
  const std::int32_t* lengths;
  SequencePlaces places;

  /// From inputs with the offsets at `slot` if packed.
  AttentionSequences(const AttentionExtents& e, std::span<void* const> inputs, std::size_t slot)
      : lengths(static_cast<const std::int32_t*>(inputs[1])),
        places(sequence_places(e.batch, e.length, inputs, slot)) {}
};

/// What dropout multiplies the weights that it keeps by.
inline float mask_scale(const AttentionAttributes& attributes) {
  return DropoutMask(attributes.dropout, 0, 0, 0).scale;
}
/// Enqueues mask [B,heads,S,S] of `e.dtype`: `kept` where dropout keeps the weight, 0 where not; the same weights as on
/// the CPU.
void make_attention_mask(const Device& device, const AttentionExtents& e, const AttentionAttributes& attributes,
                         const void* rng, float kept, void* mask);
/// Enqueues seed and offset, one number each, for a library's generator that draws the mask instead: a different pair
/// for every stream, seed, step and part.
void make_attention_seed(const Device& device, const AttentionAttributes& attributes, const void* rng,
                         std::int64_t* seed, std::int64_t* offset);

/// heads [parts][B,heads,S,D] = tokens [B,S,width] or packed [T,width], 0 beyond the lengths: for 3 parts of qkv, whose
/// keys and values are repeated for each query head that reads them; for 1 part of out.
void gather_heads(const Device& device, const AttentionExtents& e, int parts, const AttentionSequences& sequences,
                  const void* tokens, void* heads);
/// The reverse, with 0 beyond the lengths; what was repeated is added up. Tokens after packed sequences are unchanged.
void spread_heads(const Device& device, const AttentionExtents& e, int parts, const AttentionSequences& sequences,
                  const void* heads, void* tokens);
/// tokens [B,S,width] = 0 beyond the lengths, or packed [T,width] = 0 after the sequences.
void clear_padded_tokens(const Device& device, const AttentionExtents& e, std::int64_t width,
                         const AttentionSequences& sequences, void* tokens);
/// offsets i32 [B+1] of packed sequences in tokens of `width` elements, counted in elements as cuDNN does.
void element_offsets(const Device& device, const SequencePlaces& places, std::int64_t width, std::int32_t* offsets);
/// lse [B,heads,S] = 0 beyond the lengths.
void clear_padded_lse(const Device& device, const AttentionExtents& e, const std::int32_t* lengths, float* lse);

/// weights = dropout(softmax(scores)) of `e.dtype`, 0 in the padding; lse of each row, 0 beyond the length. `mask` is
/// null without dropout; kept weights are scaled by mask_scale.
void softmax_rows(const Device& device, const AttentionExtents& e, const std::int32_t* lengths, const float* scores,
                  const void* mask, float mask_scale, void* weights, float* lse);
/// Computes the weights after dropout and the gradient of the scores, from the scores and the gradient of those
/// weights.
void softmax_grad_rows(const Device& device, const AttentionExtents& e, const std::int32_t* lengths,
                       const float* scores, const float* lse, const float* dweights, const void* mask, float mask_scale,
                       void* weights, void* dscores);

}  // namespace ptrain::cuda
