// Attention by tiles with a running softmax (Dao et al., "FlashAttention", 2022, algorithm 1); products of bf16 are
// summed in f32, everything else is f32.
#include "core/ops/text/attention.h"

#include "core/cpu/cpu_kernels.h"
#include "core/cpu/f16_staging.h"
#include "core/cpu/kernels/attention/attention_operands.h"

#include <cmath>

namespace ptrain::cpu {
namespace {

/// Op is Attention or CrossAttention.
template <typename Op>
class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const KernelContext& context, AttentionAlgorithm algorithm, const AttentionSlots& slots)
      : attributes_(context.op_as<Op>().attrs()),
        algorithm_(algorithm),
        slots_(slots),
        dtype_(context.inputs[slots.q].dtype),
        shape_(attributes_, context.inputs),
        threads_(std::min<std::int64_t>(thread_count(), shape_.batch * shape_.heads)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(threads_ * scratch_floats()) * sizeof(float);
  }
  KernelRecord record() const override { return {std::string(enum_name(algorithm_))}; }

  void run(const KernelArgs& args) override {
    const DropoutMask mask =
        dropout_mask(attributes_.dropout, args.inputs, slots_.rng, attributes_.stream, shape_.mask_elements());
    const AttentionSequences sequences(shape_, slots_, args.inputs);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* q = static_cast<const T*>(args.inputs[slots_.q]);
      const auto* kv = static_cast<const T*>(args.inputs[slots_.kv]);
      auto* out = static_cast<T*>(args.outputs[0]);
      auto* lse = static_cast<float*>(args.outputs[1]);
      for_heads(shape_, shape_.heads, threads_, scratch_floats(), args.workspace,
                [&](std::int64_t b, std::int64_t h, Scratch scratch) {
                  run_head(q, kv, sequences.find_queries(b), sequences.find_keys(b), mask, h, scratch, out,
                           lse + shape_.mask_row(b, h, 0));
                });
      clear_tail(sequences.queries, shape_.tokens, shape_.out_stride(), out);
    });
  }

 private:
  std::int64_t tile_floats() const { return shape_.query_tile * shape_.key_tile; }
  std::int64_t scratch_floats() const {
    const AttentionShape& s = shape_;
    return s.depth * s.padded_length + (s.key_length + 2 * s.query_tile) * s.padded_depth + 2 * tile_floats() +
           2 * round_to_lanes(s.query_tile);
  }

  template <typename T>
  void run_head(const T* q, const T* kv, const SequenceRange& sequence, const SequenceRange& key_sequence,
                const DropoutMask& mask, std::int64_t h, Scratch scratch, T* out, float* lse) const {
    using Packed = Operands<T>;
    using Element = typename Packed::Element;
    const AttentionShape& s = shape_;
    const std::int64_t first = sequence.first, valid = sequence.valid;
    const std::int64_t query_stride = Packed::elements(s.padded_depth);
    auto* keys = scratch.take<Element>(Packed::elements(s.depth) * s.padded_length);
    auto* values = scratch.take<Element>(Packed::elements(s.key_length) * s.padded_depth);
    auto* queries = scratch.take<Element>(s.query_tile * query_stride);
    float* sums = scratch.take(s.query_tile * s.padded_depth);  // of weighted values
    float* scores = scratch.take(tile_floats());
    float* factors = scratch.take(tile_floats());
    float* largest = scratch.take(s.query_tile);
    float* total = scratch.take(s.query_tile);
    Packed::pack_columns(kv + s.key_offset(key_sequence.first, h), s.key_stride, key_sequence.valid, s, keys);
    Packed::pack_tokens(kv + s.value_offset(key_sequence.first, h), s.key_stride, key_sequence.valid, s, values);

    for_tiles(valid, s.query_tile, [&](std::int64_t q0, std::int64_t rows) {
      Packed::pack_rows(q + s.query_offset(first + q0, h), s.query_stride, rows, s, queries);
      std::fill(largest, largest + rows, -std::numeric_limits<float>::infinity());
      std::fill(total, total + rows, 0.0f);
      for_tiles(s.keys_until(q0 + rows, key_sequence.valid), s.key_tile, [&](std::int64_t k0, std::int64_t count) {
        const std::int64_t padded = round_to_lanes(count);
        small_gemm(SmallGemm<Element>{rows, padded, Packed::elements(s.depth), queries, query_stride, 1, keys + k0,
                                      s.padded_length, scores, s.key_tile});
        for (std::int64_t r = 0; r < rows; ++r) {
          float* row = scores + r * s.key_tile;
          const std::int64_t seen = s.keys_seen(q0 + r, k0, count);
          const float now = find_largest(row, seen, largest[r]);
          const float rescale = fast_exp(s.scale * (largest[r] - now));
          total[r] = total[r] * rescale + exp_row(row, seen, padded, s.scale, now);
          largest[r] = now;
          if (k0 == 0) continue;
          for (std::int64_t d = 0; d < s.padded_depth; ++d) sums[r * s.padded_depth + d] *= rescale;
        }
        if (mask.threshold > 0) {
          tile_factors(mask, s, s.mask_row(sequence.index, h, q0), rows, k0, padded, s.key_tile, factors);
          for (std::int64_t i = 0; i < rows * s.key_tile; ++i) scores[i] *= factors[i];
        }
        const Element* weights = Packed::from_tile(scores, rows, padded, s.key_tile);
        small_gemm(SmallGemm<Element>{rows, s.padded_depth, Packed::elements(count), weights, s.key_tile, 1,
                                      values + Packed::elements(k0) * s.padded_depth, s.padded_depth, sums,
                                      s.padded_depth, k0 > 0});
      });
      T* to = out + s.out_offset(first + q0, h);
      for (std::int64_t r = 0; r < rows; ++r, to += s.out_stride()) {
        const f32x16 inverse = splat(1.0f / total[r]);
        const float* from = sums + r * s.padded_depth;
        for_channels(s.depth, [&](std::int64_t d, auto access) { access.store(to + d, load16(from + d) * inverse); });
        lse[q0 + r] = s.scale * largest[r] + std::log(total[r]);
      }
    });
    for (std::int64_t query = valid; query < sequence.padded; ++query) {
      T* to = out + s.out_offset(first + query, h);
      std::fill(to, to + s.depth, T(0.0f));
    }
    std::fill(lse + valid, lse + s.length, 0.0f);
  }

  typename Op::Attributes attributes_;
  AttentionAlgorithm algorithm_;
  AttentionSlots slots_;
  DType dtype_;
  AttentionShape shape_;
  std::int64_t threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const KernelContext& context) {
  return stage_f16(context, [](const KernelContext& wide) -> std::unique_ptr<Kernel> {
    const AttentionAlgorithm algorithm = wide.op_as<Attention>().attrs().algorithm;
    return std::make_unique<AttentionKernel<Attention>>(wide, algorithm, self_slots);
  });
}

std::unique_ptr<Kernel> make_cross_attention(const KernelContext& context) {
  return stage_f16(context, [](const KernelContext& wide) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionKernel<CrossAttention>>(wide, AttentionAlgorithm::flash, cross_slots);
  });
}

}  // namespace ptrain::cpu
