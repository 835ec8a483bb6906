// A warp takes one query of one head, whose weights for all keys it writes to the workspace. The gradients of keys and
// values are sums over a sequence's queries, from the weights' and scores' gradients that a first kernel writes there.
#include "core/ops/text/cross_attention.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dropout.cuh"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/sequences.h"

#include <cmath>

namespace ptrain::cuda {
namespace {

constexpr int query_threads = 32;
constexpr int block_queries = 4;

/// One problem on the device.
struct CrossProblem {
  CrossAttentionDims e;
  SequencePlaces queries, keys;
  float scale, dropout;
  std::uint32_t stream;
  const std::int64_t* rng;

  __device__ DropoutMask mask() const {
    return dropout_mask(dropout, rng, stream, e.rows() * static_cast<std::int64_t>(attention_mask_stride(e.most_keys)));
  }
};

/// A warp's query: its token and head, its sequence's keys and its row of scores.
struct QueryRow {
  std::int64_t token, head, sequence, first_key, key_count, row;

  __device__ explicit QueryRow(const CrossProblem& p) {
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * block_queries + threadIdx.x / query_threads;
    token = index / p.e.heads;
    head = index % p.e.heads;
    sequence = token < p.e.queries ? p.queries.find(token) : -1;
    first_key = key_count = row = 0;
    if (sequence < 0) return;
    first_key = p.keys.begin(sequence);
    key_count = p.keys.end(sequence) - first_key;
    row = (sequence * p.e.heads + head) * p.e.most_queries + token - p.queries.begin(sequence);
  }
  __device__ std::uint64_t mask_element(const CrossProblem& p, std::int64_t key) const {
    return static_cast<std::uint64_t>(row) * attention_mask_stride(p.e.most_keys) + static_cast<std::uint64_t>(key);
  }
};

template <typename T>
__device__ float dot(const T* a, const T* b, std::int64_t depth) {
  float sum = 0;
  for (std::int64_t d = 0; d < depth; ++d) sum += to_float(a[d]) * to_float(b[d]);
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(block_queries* query_threads)
    cross_attention_kernel(CrossProblem p, const T* q, const T* kv, float* weights, T* out, float* lse) {
  const QueryRow query(p);
  if (query.token >= p.e.queries) return;
  const std::int64_t depth = p.e.depth, width = p.e.width(), at = query.token * width + query.head * depth;
  const int lane = static_cast<int>(threadIdx.x % query_threads);
  if (query.sequence < 0) {
    for (std::int64_t d = lane; d < depth; d += query_threads) out[at + d] = from_float<T>(0.0f);
    return;
  }
  const T* const keys = kv + query.first_key * 2 * width + query.head * depth;
  float* const own = weights + (query.token * p.e.heads + query.head) * p.e.most_keys;
  float largest = -INFINITY, total = 0;
  for (std::int64_t k = lane; k < query.key_count; k += query_threads) {
    own[k] = p.scale * dot(q + at, keys + k * 2 * width, depth);
    largest = fmaxf(largest, own[k]);
  }
  largest = warp_max(largest);
  for (std::int64_t k = lane; k < query.key_count; k += query_threads) {
    own[k] = expf(own[k] - largest);
    total += own[k];
  }
  total = warp_sum(total);
  const DropoutMask mask = p.mask();
  for (std::int64_t k = lane; k < query.key_count; k += query_threads) {
    own[k] /= total;
    if (p.dropout > 0) own[k] *= mask.factor(query.mask_element(p, k));
  }
  __syncwarp();
  for (std::int64_t d = lane; d < depth; d += query_threads) {
    float sum = 0;
    for (std::int64_t k = 0; k < query.key_count; ++k) sum += own[k] * to_float(keys[(2 * k + 1) * width + d]);
    out[at + d] = from_float<T>(sum);
  }
  if (lane == 0) lse[query.row] = largest + logf(total);
}

/// Zero for the rows beyond a sequence's queries.
__global__ void __launch_bounds__(block_threads) clear_cross_lse_kernel(CrossProblem p, float* lse) {
  const std::int64_t row = grid_thread();
  if (row >= p.e.rows()) return;
  const std::int64_t sequence = row / (p.e.heads * p.e.most_queries);
  if (row % p.e.most_queries >= p.queries.end(sequence) - p.queries.begin(sequence)) lse[row] = 0;
}

/// Writes the weights after dropout and the gradients of the scores, and dq.
template <typename T>
__global__ void __launch_bounds__(block_queries* query_threads)
    cross_query_gradient_kernel(CrossProblem p, const T* q, const T* kv, const T* out, const float* lse, const T* dout,
                                float* weights, float* dscores, T* dq) {
  const QueryRow query(p);
  if (query.token >= p.e.queries) return;
  const std::int64_t depth = p.e.depth, width = p.e.width(), at = query.token * width + query.head * depth;
  const int lane = static_cast<int>(threadIdx.x % query_threads);
  if (query.sequence < 0) {
    for (std::int64_t d = lane; d < depth; d += query_threads) dq[at + d] = from_float<T>(0.0f);
    return;
  }
  const T* const keys = kv + query.first_key * 2 * width + query.head * depth;
  const std::int64_t first = (query.token * p.e.heads + query.head) * p.e.most_keys;
  const float delta = dot(out + at, dout + at, depth);
  const DropoutMask mask = p.mask();
  for (std::int64_t k = lane; k < query.key_count; k += query_threads) {
    const float weight = expf(p.scale * dot(q + at, keys + k * 2 * width, depth) - lse[query.row]);
    const float factor = p.dropout > 0 ? mask.factor(query.mask_element(p, k)) : 1.0f;
    weights[first + k] = weight * factor;
    dscores[first + k] = weight * (factor * dot(dout + at, keys + (2 * k + 1) * width, depth) - delta);
  }
  __syncwarp();
  for (std::int64_t d = lane; d < depth; d += query_threads) {
    float sum = 0;
    for (std::int64_t k = 0; k < query.key_count; ++k) sum += dscores[first + k] * to_float(keys[2 * k * width + d]);
    dq[at + d] = from_float<T>(p.scale * sum);
  }
}

/// A thread per channel of a key and its value.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    cross_key_gradient_kernel(CrossProblem p, const T* q, const T* dout, const float* weights, const float* dscores,
                              T* dkv) {
  const std::int64_t width = p.e.width();
  for (std::int64_t i = grid_thread(); i < p.e.keys * width; i += grid_threads()) {
    const std::int64_t token = i / width, channel = i % width, head = channel / p.e.depth;
    const std::int64_t sequence = p.keys.find(token);
    float dk = 0, dv = 0;
    if (sequence >= 0) {
      const std::int64_t key = token - p.keys.begin(sequence);
      for (std::int64_t t = p.queries.begin(sequence); t < p.queries.end(sequence); ++t) {
        const std::int64_t score = (t * p.e.heads + head) * p.e.most_keys + key;
        dk += dscores[score] * to_float(q[t * width + channel]);
        dv += weights[score] * to_float(dout[t * width + channel]);
      }
    }
    dkv[2 * token * width + channel] = from_float<T>(p.scale * dk);
    dkv[(2 * token + 1) * width + channel] = from_float<T>(dv);
  }
}

/// What both directions share; Op is CrossAttention or its gradient.
template <typename Op>
class CrossKernel : public Kernel {
 public:
  CrossKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<Op>().attrs()),
        e_(attributes_, context.inputs),
        dtype_(context.inputs[Op::q].dtype) {}

 protected:
  /// Floats of one matrix of weights, or of scores.
  std::int64_t weight_count() const { return e_.queries * e_.heads * e_.most_keys; }
  CrossProblem find_problem(const KernelArgs& args) const {
    const auto places = [&](int slot) {
      return SequencePlaces{e_.batch, 0, static_cast<const std::int32_t*>(args.inputs[static_cast<std::size_t>(slot)])};
    };
    const bool drops = attributes_.dropout > 0;
    return {e_,
            places(Op::query_offsets),
            places(Op::key_offsets),
            1.0f / std::sqrt(static_cast<float>(e_.depth)),
            attributes_.dropout,
            attributes_.stream,
            drops ? static_cast<const std::int64_t*>(args.inputs[Op::rng]) : nullptr};
  }
  unsigned query_blocks() const { return blocks_for(e_.queries * e_.heads, block_queries); }

  Device& device_;
  CrossAttentionAttributes attributes_;
  CrossAttentionDims e_;
  DType dtype_;
};

class CrossAttentionKernel final : public CrossKernel<CrossAttention> {
  using Op = CrossAttention;

 public:
  using CrossKernel::CrossKernel;

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(weight_count()) * sizeof(float); }

  void run(const KernelArgs& args) override {
    const CrossProblem problem = find_problem(args);
    auto* lse = static_cast<float*>(args.outputs[1]);
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      launch(cross_attention_kernel<T>, query_blocks(), block_queries * query_threads, device_, problem,
             static_cast<const T*>(args.inputs[Op::q]), static_cast<const T*>(args.inputs[Op::kv]),
             static_cast<float*>(args.workspace), static_cast<T*>(args.outputs[0]), lse);
    });
    launch(clear_cross_lse_kernel, blocks_for(e_.rows()), block_threads, device_, problem, lse);
  }
};

class CrossAttentionGradKernel final : public CrossKernel<CrossAttentionGrad> {
  using Op = CrossAttentionGrad;

 public:
  using CrossKernel::CrossKernel;

  std::size_t workspace_bytes() const override { return 2 * static_cast<std::size_t>(weight_count()) * sizeof(float); }

  void run(const KernelArgs& args) override {
    const CrossProblem problem = find_problem(args);
    auto* weights = static_cast<float*>(args.workspace);
    float* dscores = weights + weight_count();
    visit_floating(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const auto* q = static_cast<const T*>(args.inputs[Op::q]);
      const auto* dout = static_cast<const T*>(args.inputs[Op::dout]);
      launch(cross_query_gradient_kernel<T>, query_blocks(), block_queries * query_threads, device_, problem, q,
             static_cast<const T*>(args.inputs[Op::kv]), static_cast<const T*>(args.inputs[Op::out]),
             static_cast<const float*>(args.inputs[Op::lse]), dout, weights, dscores, static_cast<T*>(args.outputs[0]));
      launch(cross_key_gradient_kernel<T>, grid_blocks(device_, e_.keys * e_.width()), block_threads, device_, problem,
             q, dout, static_cast<const float*>(weights), static_cast<const float*>(dscores),
             static_cast<T*>(args.outputs[1]));
    });
  }
};

}  // namespace

std::unique_ptr<Kernel> make_cross_attention(const KernelContext& context, Device& device) {
  return std::make_unique<CrossAttentionKernel>(context, device);
}
std::unique_ptr<Kernel> make_cross_attention_grad(const KernelContext& context, Device& device) {
  return std::make_unique<CrossAttentionGradKernel>(context, device);
}

}  // namespace ptrain::cuda
