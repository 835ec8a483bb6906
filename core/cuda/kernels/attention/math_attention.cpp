#include "core/cuda/kernels/attention/math_attention.h"

#include <algorithm>

namespace ptrain::cuda {
namespace {

/// [S,S] of every head: queries (or their gradients) times keys (or values).
MatrixProduct scores_product(const AttentionExtents& e, float factor) {
  MatrixProduct product;
  product.rows = product.columns = e.length;
  product.inner = e.depth;
  product.right_transposed = true;
  product.in = e.dtype;
  product.out = DType::f32;
  product.batch = e.batch * e.heads;
  product.factor = factor;
  return product;
}

/// [S,D] of every head: [S,S] weights, by queries or (transposed) by keys, times [S,D].
MatrixProduct heads_product(const AttentionExtents& e, bool by_keys, float factor) {
  MatrixProduct product;
  product.rows = product.inner = e.length;
  product.columns = e.depth;
  product.left_transposed = by_keys;
  product.in = product.out = e.dtype;
  product.batch = e.batch * e.heads;
  product.factor = factor;
  return product;
}

std::size_t f32_bytes(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }

/// One of q, k and v (or their gradients) within [3][B,heads,S,D].
void* get_part(void* packed, const AttentionExtents& e, int part) {
  return static_cast<std::byte*>(packed) + static_cast<std::size_t>(part) * e.bytes(e.head_elements());
}

std::size_t most_workspace(std::initializer_list<const Gemm*> gemms) {
  std::size_t most = 0;
  for (const Gemm* gemm : gemms) most = std::max(most, gemm->workspace_bytes());
  return most;
}

}  // namespace

MathAttention::MathAttention(const KernelContext& context, Device& device, const AttentionAttributes& attributes)
    : device_(device), attributes_(attributes), e_(attributes, context.inputs) {
  scores_gemm_ = Gemm::make_plain(context, device, scores_product(e_, e_.scale));
  out_gemm_ = Gemm::make_plain(context, device, heads_product(e_, /*by_keys=*/false, 1));
  qkv_ = layout_.take(e_.bytes(3 * e_.head_elements()));
  scores_ = layout_.take(f32_bytes(e_.scores()));
  weights_ = layout_.take(e_.bytes(e_.scores()));
  if (attributes.dropout > 0) mask_ = layout_.take(e_.bytes(e_.scores()));
  out_ = layout_.take(e_.bytes(e_.head_elements()));
  gemm_workspace_ = layout_.take(most_workspace({scores_gemm_.get(), out_gemm_.get()}));
}

void MathAttention::run(const void* qkv, const AttentionSequences& sequences, const void* rng, void* out, float* lse,
                        void* workspace) {
  void* packed = qkv_.in(workspace);
  auto* scores = scores_.as<float>(workspace);
  void* mask = attributes_.dropout > 0 ? mask_.in(workspace) : nullptr;
  void* scratch = gemm_workspace_.in(workspace);
  gather_heads(device_, e_, 3, sequences, qkv, packed);
  scores_gemm_->run({get_part(packed, e_, 0), get_part(packed, e_, 1), scores}, scratch);
  if (mask != nullptr) make_attention_mask(device_, e_, attributes_, rng, 1, mask);
  softmax_rows(device_, e_, sequences.lengths, scores, mask, mask_scale(attributes_), weights_.in(workspace), lse);
  out_gemm_->run({weights_.in(workspace), get_part(packed, e_, 2), out_.in(workspace)}, scratch);
  spread_heads(device_, e_, 1, sequences, out_.in(workspace), out);
  if (e_.packed) clear_padded_tokens(device_, e_, e_.out_width(), sequences, out);
}

MathAttentionGrad::MathAttentionGrad(const KernelContext& context, Device& device,
                                     const AttentionAttributes& attributes)
    : device_(device), attributes_(attributes), e_(attributes, context.inputs) {
  scores_gemm_ = Gemm::make_plain(context, device, scores_product(e_, e_.scale));
  dweights_gemm_ = Gemm::make_plain(context, device, scores_product(e_, 1));
  dq_gemm_ = Gemm::make_plain(context, device, heads_product(e_, /*by_keys=*/false, e_.scale));
  dk_gemm_ = Gemm::make_plain(context, device, heads_product(e_, /*by_keys=*/true, e_.scale));
  dv_gemm_ = Gemm::make_plain(context, device, heads_product(e_, /*by_keys=*/true, 1));
  qkv_ = layout_.take(e_.bytes(3 * e_.head_elements()));
  dout_ = layout_.take(e_.bytes(e_.head_elements()));
  scores_ = layout_.take(f32_bytes(e_.scores()));
  dweights_ = layout_.take(f32_bytes(e_.scores()));
  weights_ = layout_.take(e_.bytes(e_.scores()));
  dscores_ = layout_.take(e_.bytes(e_.scores()));
  if (attributes.dropout > 0) mask_ = layout_.take(e_.bytes(e_.scores()));
  dqkv_ = layout_.take(e_.bytes(3 * e_.head_elements()));
  gemm_workspace_ = layout_.take(
      most_workspace({scores_gemm_.get(), dweights_gemm_.get(), dq_gemm_.get(), dk_gemm_.get(), dv_gemm_.get()}));
}

void MathAttentionGrad::run(const void* qkv, const AttentionSequences& sequences, const void* rng, const float* lse,
                            const void* dout, void* dqkv, void* workspace) {
  void* packed = qkv_.in(workspace);
  void* gradient = dout_.in(workspace);
  void* packed_gradients = dqkv_.in(workspace);
  auto* scores = scores_.as<float>(workspace);
  auto* dweights = dweights_.as<float>(workspace);
  void* mask = attributes_.dropout > 0 ? mask_.in(workspace) : nullptr;
  void* scratch = gemm_workspace_.in(workspace);
  gather_heads(device_, e_, 3, sequences, qkv, packed);
  gather_heads(device_, e_, 1, sequences, dout, gradient);
  void *q = get_part(packed, e_, 0), *k = get_part(packed, e_, 1), *v = get_part(packed, e_, 2);
  scores_gemm_->run({q, k, scores}, scratch);
  dweights_gemm_->run({gradient, v, dweights}, scratch);
  if (mask != nullptr) make_attention_mask(device_, e_, attributes_, rng, 1, mask);
  softmax_grad_rows(device_, e_, sequences.lengths, scores, lse, dweights, mask, mask_scale(attributes_),
                    weights_.in(workspace), dscores_.in(workspace));
  dq_gemm_->run({dscores_.in(workspace), k, get_part(packed_gradients, e_, 0)}, scratch);
  dk_gemm_->run({dscores_.in(workspace), q, get_part(packed_gradients, e_, 1)}, scratch);
  dv_gemm_->run({weights_.in(workspace), gradient, get_part(packed_gradients, e_, 2)}, scratch);
  spread_heads(device_, e_, 3, sequences, packed_gradients, dqkv);
  if (e_.packed) clear_padded_tokens(device_, e_, e_.qkv_width(), sequences, dqkv);
}

}  // namespace ptrain::cuda
