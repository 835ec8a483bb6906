// Attention's gradient by tiles: the weights are computed again from q, k and the saved log-sum-exp (Dao et al.,
// "FlashAttention", 2022, algorithm 4), in f32.
#include "core/cpu/f16_staging.h"
#include "core/cpu/kernels.h"
#include "core/cpu/kernels/attention_tiles.h"
#include "core/ops/attention.h"
#include "core/ops/math/exp.h"

namespace ptrain::cpu {
namespace {

/// One thread's scratch for one head.
struct HeadScratch {
  float *q, *k, *dout;                 // [length, padded_depth]; q is scaled
  float *k_columns, *v_columns;        // [depth, padded_length]
  float *dq, *dk, *dv;                 // [length, padded_depth]
  float* delta;                        // [length]: dout . out
  float *weights, *dscores, *factors;  // [query_tile, key_tile]

  HeadScratch(const AttentionShape& s, Scratch& scratch) {
    const std::int64_t rows = s.length * s.padded_depth;
    const std::int64_t columns = s.depth * s.padded_length;
    const std::int64_t tile = s.query_tile * s.key_tile;
    for (float** p : {&q, &k, &dout, &dq, &dk, &dv}) *p = scratch.take(rows);
    for (float** p : {&k_columns, &v_columns}) *p = scratch.take(columns);
    delta = scratch.take(s.length);
    for (float** p : {&weights, &dscores, &factors}) *p = scratch.take(tile);
  }
  static std::int64_t floats(const AttentionShape& s) {
    return 6 * s.length * s.padded_depth + 2 * s.depth * s.padded_length + s.padded_length +
           3 * round_to_lanes(s.query_tile * s.key_tile);
  }
};

/// From the tile's scores (in `weights`) and dout v^T (in `dscores`): the weights after dropout, and the gradient of
/// the scores.
void weights_and_gradient(float* weights, float* dscores, const float* factors, float lse, float delta,
                          std::int64_t keys, std::int64_t padded) {
#pragma omp simd
  for (std::int64_t k = 0; k < keys; ++k) {
    const float weight = fast_exp(weights[k] - lse);
    dscores[k] = weight * (dscores[k] * factors[k] - delta);
    weights[k] = weight * factors[k];
  }
  std::fill(weights + keys, weights + padded, 0.0f);
  std::fill(dscores + keys, dscores + padded, 0.0f);
}

class AttentionGradKernel final : public Kernel {
 public:
  explicit AttentionGradKernel(const KernelContext& context)
      : attributes_(context.op_as<AttentionGrad>().attrs()),
        dtype_(context.inputs[0].dtype),
        shape_(attributes_, context.inputs[0].shape),
        threads_(std::min<std::int64_t>(thread_count(), shape_.batch * shape_.heads)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(threads_ * HeadScratch::floats(shape_)) * sizeof(float);
  }
  std::string implementation() const override { return std::string(name_of(attributes_.algorithm)); }

  void run(const KernelArgs& args) override {
    visit_floating(dtype_, [&](auto zero) { run_as<decltype(zero)>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const AttentionShape& s = shape_;
    const DropoutMask mask = dropout_mask(attributes_.dropout, args.inputs, 2, attributes_.stream, s.mask_elements());
    const auto* qkv = static_cast<const T*>(args.inputs[0]);
    const auto* lengths = static_cast<const std::int32_t*>(args.inputs[1]);
    const auto* out = static_cast<const T*>(args.inputs[3]);
    const auto* lse = static_cast<const float*>(args.inputs[4]);
    const auto* dout = static_cast<const T*>(args.inputs[5]);
    auto* dqkv = static_cast<T*>(args.outputs[0]);
    for_heads(s, threads_, HeadScratch::floats(s), args.workspace, [&](std::int64_t b, std::int64_t h, Scratch memory) {
      const HeadScratch head(s, memory);
      const std::int64_t valid = lengths[b];
      load(qkv, out, dout, b, h, valid, head);
      for_tiles(valid, s.query_tile, [&](std::int64_t q0, std::int64_t rows) {
        for_tiles(valid, s.key_tile, [&](std::int64_t k0, std::int64_t keys) {
          run_tile(head, mask, lse + s.mask_row(b, h, q0), s.mask_row(b, h, q0), {q0, rows}, {k0, keys});
        });
      });
      store(head, valid, b, h, dqkv);
    });
  }

  template <typename T>
  void load(const T* qkv, const T* out, const T* dout, std::int64_t b, std::int64_t h, std::int64_t valid,
            const HeadScratch& head) const {
    const AttentionShape& s = shape_;
    const T* k = qkv + s.qkv_offset(b, h, 1);
    pack_rows(qkv + s.qkv_offset(b, h, 0), s.row_stride(), valid, s, s.scale, head.q);
    pack_rows(k, s.row_stride(), valid, s, 1.0f, head.k);
    pack_columns(k, s.row_stride(), valid, s, head.k_columns);
    pack_columns(qkv + s.qkv_offset(b, h, 2), s.row_stride(), valid, s, head.v_columns);
    pack_rows(dout + s.out_offset(b, h), s.out_stride(), valid, s, 1.0f, head.dout);
    for (std::int64_t q = 0; q < valid; ++q) {
      const T* row = out + s.out_offset(b, h) + q * s.out_stride();
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t d = 0; d < s.depth; ++d) sum += static_cast<float>(row[d]) * head.dout[q * s.padded_depth + d];
      head.delta[q] = sum;
    }
  }

  struct Range {
    std::int64_t first, count;
  };

  void run_tile(const HeadScratch& head, const DropoutMask& mask, const float* lse, std::int64_t mask_row, Range q,
                Range k) const {
    const AttentionShape& s = shape_;
    const std::int64_t padded = round_to_lanes(k.count);
    const std::int64_t depth = s.padded_depth;
    const float* queries = head.q + q.first * depth;
    const float* dout = head.dout + q.first * depth;
    small_gemm({q.count, padded, s.depth, queries, depth, 1, head.k_columns + k.first, s.padded_length, head.weights,
                s.key_tile});
    small_gemm({q.count, padded, s.depth, dout, depth, 1, head.v_columns + k.first, s.padded_length, head.dscores,
                s.key_tile});
    if (mask.threshold > 0) {
      tile_factors(mask, s, mask_row, q.count, k.first, padded, s.key_tile, head.factors);
    } else {
      std::fill(head.factors, head.factors + q.count * s.key_tile, 1.0f);
    }
    for (std::int64_t r = 0; r < q.count; ++r) {
      const std::int64_t row = r * s.key_tile;
      weights_and_gradient(head.weights + row, head.dscores + row, head.factors + row, lse[r], head.delta[q.first + r],
                           k.count, padded);
    }
    const bool later = q.first > 0;
    small_gemm(
        {k.count, depth, q.count, head.weights, 1, s.key_tile, dout, depth, head.dv + k.first * depth, depth, later});
    small_gemm({k.count, depth, q.count, head.dscores, 1, s.key_tile, queries, depth, head.dk + k.first * depth, depth,
                later});
    small_gemm({q.count, depth, k.count, head.dscores, s.key_tile, 1, head.k + k.first * depth, depth,
                head.dq + q.first * depth, depth, k.first > 0});
  }

  template <typename T>
  void store(const HeadScratch& head, std::int64_t valid, std::int64_t b, std::int64_t h, T* dqkv) const {
    const AttentionShape& s = shape_;
    // The scale is already in the scaled queries for dk; dq still needs it.
    const float scales[] = {s.scale, 1.0f, 1.0f};
    const float* gradients[] = {head.dq, head.dk, head.dv};
    for (int part = 0; part < 3; ++part) {
      T* to = dqkv + s.qkv_offset(b, h, part);
      for (std::int64_t t = 0; t < s.length; ++t, to += s.row_stride()) {
        const float* from = gradients[part] + t * s.padded_depth;
        const float factor = scales[part];
        for_channels(s.depth, [&](std::int64_t d, auto access) {
          access.store(to + d, t < valid ? factor * access.load(from + d) : f32x16{});
        });
      }
    }
  }

  AttentionAttributes attributes_;
  DType dtype_;
  AttentionShape shape_;
  std::int64_t threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_attention_grad(const KernelContext& context) {
  return stage_f16(context, [](const KernelContext& wide) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionGradKernel>(wide);
  });
}

}  // namespace ptrain::cpu
