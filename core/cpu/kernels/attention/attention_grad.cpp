// Attention's gradient by tiles: the weights are recomputed from q, k and the saved log-sum-exp (Dao et al.,
// "FlashAttention", 2022, algorithm 4); products of bf16 are summed in f32, everything else is f32.
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/f16_staging.h"
#include "core/cpu/kernels/attention/attention_operands.h"
#include "core/ops/math/exp.h"
#include "core/ops/text/attention.h"

namespace ptrain::cpu {
namespace {

/// One thread's scratch for one head; operands of products are packed by `Packed`.
template <typename Packed>
struct HeadScratch {
  using Element = typename Packed::Element;
  Element *q, *dout;                           // [length, elements(padded_depth)]
  Element *q_tokens, *dout_tokens, *k_tokens;  // [elements(length or key_length), padded_depth]
  Element *k_columns, *v_columns;              // [elements(depth), padded_length]
  Element* transposed;                         // [elements(query_tile), key_tile]
  float *dq, *dk, *dv;                         // [length or key_length, padded_depth]
  float* delta;                                // [length]: dout . out
  float *weights, *dscores, *factors;          // [query_tile, key_tile]

  HeadScratch(const AttentionShape& s, Scratch scratch) {
    q = scratch.take<Element>(row_elements(s));
    dout = scratch.take<Element>(row_elements(s));
    q_tokens = Packed::rows_are_tokens ? q : scratch.take<Element>(token_elements(s, s.length));
    dout_tokens = Packed::rows_are_tokens ? dout : scratch.take<Element>(token_elements(s, s.length));
    k_tokens = scratch.take<Element>(token_elements(s, s.key_length));
    for (Element** p : {&k_columns, &v_columns}) *p = scratch.take<Element>(column_elements(s));
    transposed = Packed::rows_are_tokens ? nullptr : scratch.take<Element>(s.query_tile * s.key_tile);
    dq = scratch.take(s.length * s.padded_depth);
    for (float** p : {&dk, &dv}) *p = scratch.take(s.key_length * s.padded_depth);
    delta = scratch.take(s.length);
    for (float** p : {&weights, &dscores, &factors}) *p = scratch.take(s.query_tile * s.key_tile);
  }
  static std::int64_t floats(const AttentionShape& s) {
    const std::int64_t tile = round_to_lanes(s.query_tile * s.key_tile);
    const std::int64_t copies = Packed::rows_are_tokens ? 0 : 2 * token_elements(s, s.length) + tile;
    return 2 * row_elements(s) + copies + token_elements(s, s.key_length) + 2 * column_elements(s) +
           (s.length + 2 * s.key_length) * s.padded_depth + round_to_lanes(s.length) + 3 * tile;
  }

 private:
  static std::int64_t row_elements(const AttentionShape& s) {
    return round_to_lanes(s.length * Packed::elements(s.padded_depth));
  }
  static std::int64_t token_elements(const AttentionShape& s, std::int64_t tokens) {
    return Packed::elements(tokens) * s.padded_depth;
  }
  static std::int64_t column_elements(const AttentionShape& s) { return Packed::elements(s.depth) * s.padded_length; }
};

/// From the tile's scores (in `weights`) and dout v^T (in `dscores`), computes the weights after dropout and the
/// gradient of the scores.
void weights_and_gradient(float* weights, float* dscores, const float* factors, float scale, float lse, float delta,
                          std::int64_t keys, std::int64_t padded) {
#pragma omp simd
  for (std::int64_t k = 0; k < keys; ++k) {
    const float weight = fast_exp(scale * weights[k] - lse);
    dscores[k] = weight * (dscores[k] * factors[k] - delta);
    weights[k] = weight * factors[k];
  }
  std::fill(weights + keys, weights + padded, 0.0f);
  std::fill(dscores + keys, dscores + padded, 0.0f);
}

/// Op is AttentionGrad or CrossAttentionGrad.
template <typename Op>
class AttentionGradKernel final : public Kernel {
 public:
  AttentionGradKernel(const KernelContext& context, AttentionAlgorithm algorithm, const AttentionSlots& slots)
      : attributes_(context.op_as<Op>().attrs()),
        algorithm_(algorithm),
        slots_(slots),
        dtype_(context.inputs[slots.q].dtype),
        shape_(attributes_, context.inputs),
        threads_(std::min<std::int64_t>(thread_count(), shape_.batch * shape_.kv_heads)) {}

  std::size_t workspace_bytes() const override {
    return visit_floating(dtype_, [&](auto zero) {
      const std::int64_t floats = HeadScratch<Operands<decltype(zero)>>::floats(shape_);
      return static_cast<std::size_t>(threads_ * floats) * sizeof(float);
    });
  }
  KernelRecord record() const override { return {std::string(enum_name(algorithm_))}; }

  void run(const KernelArgs& args) override {
    visit_floating(dtype_, [&](auto zero) { run_as<decltype(zero)>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const DropoutMask mask =
        dropout_mask(attributes_.dropout, args.inputs, slots_.rng, attributes_.stream, s.mask_elements());
    const auto* q = static_cast<const T*>(args.inputs[slots_.q]);
    const auto* kv = static_cast<const T*>(args.inputs[slots_.kv]);
    const AttentionSequences sequences(s, slots_, args.inputs);
    const auto* out = static_cast<const T*>(args.inputs[Op::out]);
    const auto* lse = static_cast<const float*>(args.inputs[Op::lse]);
    const auto* dout = static_cast<const T*>(args.inputs[Op::dout]);
    auto* dq = static_cast<T*>(args.outputs[slots_.q]);
    auto* dkv = static_cast<T*>(args.outputs[slots_.kv]);
    using Head = HeadScratch<Operands<T>>;
    // One task for the query heads that share a key head: they add to its gradients in turn.
    for_heads(
        s, s.kv_heads, threads_, Head::floats(s), args.workspace,
        [&](std::int64_t b, std::int64_t kv_head, Scratch memory) {
          const Head head(s, memory);
          const SequenceRange queries = sequences.find_queries(b), keys = sequences.find_keys(b);
          const std::int64_t first = kv_head * s.group();
          load_keys(kv, keys, first, head);
          if (sums_begin_at_zero() || queries.valid == 0) clear_sums(head, keys.valid);
          for (std::int64_t h = first; h < first + s.group(); ++h) {
            load_queries(q, out, dout, queries, h, head);
            for_tiles(queries.valid, s.query_tile, [&](std::int64_t q0, std::int64_t rows) {
              for_tiles(s.keys_until(q0 + rows, keys.valid), s.key_tile, [&](std::int64_t k0, std::int64_t count) {
                run_tile(head, mask, lse + s.mask_row(b, h, q0), s.mask_row(b, h, q0), {q0, rows}, {k0, count});
              });
            });
            store(head.dq, s.scale, queries, dq + s.query_offset(queries.first, h), s.query_stride);
          }
          store(head.dk, s.scale, keys, dkv + s.key_offset(keys.first, first), s.key_stride);
          store(head.dv, 1.0f, keys, dkv + s.value_offset(keys.first, first), s.key_stride);
        });
    clear_tail(sequences.queries, s.tokens, s.query_stride, dq);
    clear_tail(sequences.keys, s.key_tokens, s.key_stride, dkv);
  }

  template <typename T, typename Packed>
  void load_keys(const T* kv, const SequenceRange& sequence, std::int64_t h, const HeadScratch<Packed>& head) const {
    const AttentionShape& s = shape_;
    const T* k = kv + s.key_offset(sequence.first, h);
    Packed::pack_tokens(k, s.key_stride, sequence.valid, s, head.k_tokens);
    Packed::pack_columns(k, s.key_stride, sequence.valid, s, head.k_columns);
    Packed::pack_columns(kv + s.value_offset(sequence.first, h), s.key_stride, sequence.valid, s, head.v_columns);
  }

  template <typename T, typename Packed>
  void load_queries(const T* queries, const T* out, const T* dout, const SequenceRange& sequence, std::int64_t h,
                    const HeadScratch<Packed>& head) const {
    const AttentionShape& s = shape_;
    const std::int64_t first = sequence.first, valid = sequence.valid;
    const T* q = queries + s.query_offset(first, h);
    const T* dout_head = dout + s.out_offset(first, h);
    Packed::pack_rows(q, s.query_stride, valid, s, head.q);
    Packed::pack_rows(dout_head, s.out_stride(), valid, s, head.dout);
    if (!Packed::rows_are_tokens) {
      Packed::pack_tokens(q, s.query_stride, valid, s, head.q_tokens);
      Packed::pack_tokens(dout_head, s.out_stride(), valid, s, head.dout_tokens);
    }
    for (std::int64_t t = 0; t < valid; ++t) {
      const T* out_row = out + s.out_offset(first + t, h);
      const T* dout_row = dout_head + t * s.out_stride();
      f32x16 sums{};
      for_channels(s.depth,
                   [&](std::int64_t d, auto access) { sums += access.load(out_row + d) * access.load(dout_row + d); });
      head.delta[t] = total(sums);
    }
  }

  /// Whether the keys' sums do not begin with the first tile of queries: with causal attention that differs from key to
  /// key, and several query heads add to them.
  bool sums_begin_at_zero() const { return shape_.causal || shape_.group() > 1; }
  template <typename Packed>
  void clear_sums(const HeadScratch<Packed>& head, std::int64_t valid) const {
    for (float* sums : {head.dk, head.dv}) std::fill(sums, sums + valid * shape_.padded_depth, 0.0f);
  }

  struct Range {
    std::int64_t first, count;
  };

  template <typename Packed>
  void run_tile(const HeadScratch<Packed>& head, const DropoutMask& mask, const float* lse, std::int64_t mask_row,
                Range q, Range k) const {
    using Gemm = SmallGemm<typename Packed::Element>;
    const AttentionShape& s = shape_;
    const std::int64_t padded = round_to_lanes(k.count);
    const std::int64_t depth = Packed::elements(s.depth);
    const std::int64_t row_stride = Packed::elements(s.padded_depth);
    small_gemm(Gemm{q.count, padded, depth, head.q + q.first * row_stride, row_stride, 1, head.k_columns + k.first,
                    s.padded_length, head.weights, s.key_tile});
    small_gemm(Gemm{q.count, padded, depth, head.dout + q.first * row_stride, row_stride, 1, head.v_columns + k.first,
                    s.padded_length, head.dscores, s.key_tile});
    if (mask.threshold > 0) {
      tile_factors(mask, s, mask_row, q.count, k.first, padded, s.key_tile, head.factors);
    } else {
      std::fill(head.factors, head.factors + q.count * s.key_tile, 1.0f);
    }
    for (std::int64_t r = 0; r < q.count; ++r) {
      const std::int64_t row = r * s.key_tile;
      weights_and_gradient(head.weights + row, head.dscores + row, head.factors + row, s.scale, lse[r],
                           head.delta[q.first + r], s.keys_seen(q.first + r, k.first, k.count), padded);
    }
    // Products over the tile's queries, then one over its keys.
    const bool adds = sums_begin_at_zero() || q.first > 0;  // accumulates over tiles of queries
    const std::int64_t width = s.padded_depth;
    const std::int64_t queries = Packed::elements(q.count);
    const std::int64_t first_query = Packed::elements(q.first) * width;
    const auto* weights = Packed::from_tile(head.weights, q.count, padded, s.key_tile);
    small_gemm(Gemm{k.count, width, queries, Packed::transposed(weights, q.count, padded, s.key_tile, head.transposed),
                    1, s.key_tile, head.dout_tokens + first_query, width, head.dv + k.first * width, width, adds});
    const auto* dscores = Packed::from_tile(head.dscores, q.count, padded, s.key_tile);
    small_gemm(Gemm{k.count, width, queries, Packed::transposed(dscores, q.count, padded, s.key_tile, head.transposed),
                    1, s.key_tile, head.q_tokens + first_query, width, head.dk + k.first * width, width, adds});
    small_gemm(Gemm{q.count, width, Packed::elements(k.count), dscores, s.key_tile, 1,
                    head.k_tokens + Packed::elements(k.first) * width, width, head.dq + q.first * width, width,
                    k.first > 0});
  }

  /// One head's part of a gradient, times `factor`, to tokens that are `stride` elements apart.
  template <typename T>
  void store(const float* gradient, float factor, const SequenceRange& sequence, T* to, std::int64_t stride) const {
    const AttentionShape& s = shape_;
    for (std::int64_t t = 0; t < sequence.padded; ++t, to += stride) {
      const float* from = gradient + t * s.padded_depth;
      for_channels(s.depth, [&](std::int64_t d, auto access) {
        access.store(to + d, t < sequence.valid ? factor * access.load(from + d) : f32x16{});
      });
    }
  }

  typename Op::Attributes attributes_;
  AttentionAlgorithm algorithm_;
  AttentionSlots slots_;
  DType dtype_;
  AttentionShape shape_;
  std::int64_t threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention_grad(const KernelContext& context) {
  return stage_f16(context, [](const KernelContext& wide) -> std::unique_ptr<Kernel> {
    const AttentionAlgorithm algorithm = wide.op_as<AttentionGrad>().attrs().algorithm;
    return std::make_unique<AttentionGradKernel<AttentionGrad>>(wide, algorithm, self_gradient_slots);
  });
}

std::unique_ptr<Kernel> make_cross_attention_grad(const KernelContext& context) {
  return stage_f16(context, [](const KernelContext& wide) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionGradKernel<CrossAttentionGrad>>(wide, AttentionAlgorithm::flash, cross_slots);
  });
}

}  // namespace ptrain::cpu
