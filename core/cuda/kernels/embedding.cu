// Lookups, and their gradients. Position and token-type tables are summed in a fixed order; the word table by atomic
// additions, or in token order if results must be deterministic: there the first token of each id adds up the rows of
// all tokens with that id.
#include "core/ops/text/embedding.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/device/check.h"
#include "core/cuda/primitives/columns.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/sequences.h"

namespace ptrain::cuda {
namespace {

/// Tokens, and the columns of every table.
struct Tokens {
  std::int64_t count;
  std::int64_t width;
  SequencePlaces places = {};  // for BERT; none: every token counts
  std::int64_t bag = 1;        // tokens per row of dy

  /// Number of tokens that belong to sequences: those after packed ones do not count.
  __device__ std::int64_t valid() const { return places.offsets != nullptr ? places.end() : count; }
};

__global__ void __launch_bounds__(block_threads)
    look_up_kernel(Tokens tokens, const std::int32_t* ids, const float* table, float* y) {
  for (std::int64_t i = grid_thread(); i < tokens.count * tokens.width; i += grid_threads()) {
    const std::int64_t row = ids[i / tokens.width];
    y[i] = row < 0 ? 0.0f : table[row * tokens.width + i % tokens.width];
  }
}

struct BertTables {
  const float* word;
  const float* position;
  const float* token_type;
};

__global__ void __launch_bounds__(block_threads)
    bert_look_up_kernel(Tokens tokens, const std::int32_t* ids, const std::int32_t* types, BertTables tables,
                        float* y) {
  for (std::int64_t i = grid_thread(); i < tokens.count * tokens.width; i += grid_threads()) {
    const std::int64_t t = i / tokens.width, c = i % tokens.width;
    const std::int64_t position = tokens.places.position(t);
    y[i] = position < 0 ? 0.0f
                        : tables.word[ids[t] * tokens.width + c] + tables.position[position * tokens.width + c] +
                              tables.token_type[types[t] * tokens.width + c];
  }
}

/// Adds to a zeroed table.
__global__ void __launch_bounds__(block_threads)
    scatter_kernel(Tokens tokens, const std::int32_t* ids, const float* dy, float* table) {
  for (std::int64_t i = grid_thread(); i < tokens.valid() * tokens.width; i += grid_threads()) {
    const std::int64_t t = i / tokens.width, c = i % tokens.width;
    if (ids[t] >= 0) atomicAdd(table + ids[t] * tokens.width + c, dy[t / tokens.bag * tokens.width + c]);
  }
}

/// A block per token; only those of an id's first token write. The table is zeroed.
__global__ void __launch_bounds__(block_threads)
    ordered_scatter_kernel(Tokens tokens, const std::int32_t* ids, const float* dy, float* table) {
  __shared__ std::int32_t matches[block_threads];
  __shared__ int match_count;
  const std::int64_t first = blockIdx.x, count = tokens.valid();
  if (first >= count) return;
  const std::int32_t id = ids[first];
  if (id < 0) return;
  for (std::int64_t begin = 0; begin < first; begin += block_threads) {
    const std::int64_t t = begin + threadIdx.x;
    if (__syncthreads_or(t < first && ids[t] == id ? 1 : 0) != 0) return;  // an earlier token's block does it
  }
  float* row = table + id * tokens.width;
  for (std::int64_t begin = first; begin < count; begin += block_threads) {
    const std::int64_t t = begin + threadIdx.x;
    const int mine = t < count && ids[t] == id ? 1 : 0;
    matches[threadIdx.x] = mine;
    if (__syncthreads_or(mine) == 0) continue;
    if (threadIdx.x == 0) {  // in token order
      match_count = 0;
      for (int i = 0; i < block_threads; ++i) {
        if (matches[i] != 0) matches[match_count++] = i;
      }
    }
    __syncthreads();
    for (std::int64_t c = threadIdx.x; c < tokens.width; c += block_threads) {
      float sum = row[c];
#pragma unroll 8
      for (int i = 0; i < match_count; ++i) sum += dy[(begin + matches[i]) / tokens.bag * tokens.width + c];
      row[c] = sum;
    }
    __syncthreads();
  }
}

/// Sums every sequence's row at a position, in order; zero beyond the sequences' length.
__global__ void __launch_bounds__(block_threads)
    position_grad_kernel(Tokens tokens, std::int64_t positions, const float* dy, float* table) {
  const std::int64_t i = grid_thread();
  if (i >= positions * tokens.width) return;
  const std::int64_t position = i / tokens.width, c = i % tokens.width;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t sequence = 0; sequence < tokens.places.count; ++sequence) {
    const std::int64_t t = tokens.places.begin(sequence) + position;
    sum += t < tokens.places.end(sequence) ? dy[t * tokens.width + c] : 0.0f;
  }
  table[i] = sum;
}

/// partials[part][type][column]: the sum of one token type's rows (blockIdx.z) over one part of the tokens
/// (blockIdx.y).
__global__ void __launch_bounds__(block_threads)
    type_partials_kernel(Tokens tokens, const std::int32_t* types, const float* dy, float* partials) {
  const std::int64_t c = grid_thread();
  if (c >= tokens.width) return;
  const std::int64_t parts = gridDim.y, part = blockIdx.y, count = tokens.valid();
  const int type = static_cast<int>(blockIdx.z);
  float sum = 0;
  for (std::int64_t t = count * part / parts; t < count * (part + 1) / parts; ++t) {
    if (types[t] == type) sum += dy[t * tokens.width + c];
  }
  partials[(part * gridDim.z + type) * tokens.width + c] = sum;
}

/// dtable [rows, width] of one lookup.
void table_gradient(const Device& device, bool deterministic, Tokens tokens, std::int64_t rows, const void* ids,
                    const float* dy, void* table) {
  const auto* tokens_ids = static_cast<const std::int32_t*>(ids);
  auto* sums = static_cast<float*>(table);
  CUDA_CHECK(cudaMemsetAsync(sums, 0, static_cast<std::size_t>(rows * tokens.width) * sizeof(float), device.stream()));
  if (deterministic) {
    launch(ordered_scatter_kernel, static_cast<unsigned>(tokens.count), block_threads, device, tokens, tokens_ids, dy,
           sums);
  } else {
    launch(scatter_kernel, grid_blocks(device, tokens.count * tokens.width), block_threads, device, tokens, tokens_ids,
           dy, sums);
  }
}

/// The tokens of a BERT embedding's or its gradient's inputs, ids first, offsets of packed sequences at `slot`; the
/// places are set at each run.
Tokens make_tokens(const KernelContext& context, std::int64_t width, std::size_t slot) {
  const TensorDesc& ids = context.inputs[0];
  Tokens tokens{ids.count(), width};
  tokens.places.count = context.inputs.size() > slot ? context.inputs[slot].shape[0] - 1 : ids.shape[0];
  tokens.places.length = ids.shape[-1];
  return tokens;
}

Tokens placed(Tokens tokens, const KernelArgs& args, std::size_t slot) {
  tokens.places = sequence_places(tokens.places.count, tokens.places.length, args.inputs, slot);
  return tokens;
}

class EmbeddingKernel final : public Kernel {
  using Op = Embedding;

 public:
  EmbeddingKernel(const KernelContext& context, Device& device)
      : device_(device), tokens_{context.inputs[Op::ids].count(), context.inputs[Op::table].shape[1]} {}

  void run(const KernelArgs& args) override {
    launch(look_up_kernel, grid_blocks(device_, tokens_.count * tokens_.width), block_threads, device_, tokens_,
           static_cast<const std::int32_t*>(args.inputs[Op::ids]), static_cast<const float*>(args.inputs[Op::table]),
           static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  Tokens tokens_;
};

class EmbeddingGradKernel final : public Kernel {
  using Op = EmbeddingGrad;

 public:
  EmbeddingGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        deterministic_(context.options.deterministic),
        tokens_{context.inputs[Op::ids].count(), context.outputs[0].shape[1]},
        rows_(context.outputs[0].shape[0]) {
    tokens_.bag = tokens_.count * tokens_.width / context.inputs[Op::dy].count();
  }

  void run(const KernelArgs& args) override {
    table_gradient(device_, deterministic_, tokens_, rows_, args.inputs[Op::ids],
                   static_cast<const float*>(args.inputs[Op::dy]), args.outputs[0]);
  }
  KernelRecord record() const override { return {deterministic_ ? "native: ordered" : "native: atomic"}; }

 private:
  Device& device_;
  bool deterministic_;
  Tokens tokens_;
  std::int64_t rows_;
};

class BertEmbeddingKernel final : public Kernel {
  using Op = BertEmbedding;

 public:
  BertEmbeddingKernel(const KernelContext& context, Device& device)
      : device_(device),
        tokens_(make_tokens(context, context.inputs[Op::word].shape[1], offsets_input)),
        first_position_(context.op_as<BertEmbedding>().first_position()) {}

  void run(const KernelArgs& args) override {
    const BertTables tables{static_cast<const float*>(args.inputs[Op::word]),
                            static_cast<const float*>(args.inputs[Op::position]) + first_position_ * tokens_.width,
                            static_cast<const float*>(args.inputs[Op::token_type])};
    launch(bert_look_up_kernel, grid_blocks(device_, tokens_.count * tokens_.width), block_threads, device_,
           placed(tokens_, args, offsets_input), static_cast<const std::int32_t*>(args.inputs[Op::ids]),
           static_cast<const std::int32_t*>(args.inputs[Op::token_types]), tables,
           static_cast<float*>(args.outputs[0]));
  }

 private:
  static constexpr std::size_t offsets_input = 5;

  Device& device_;
  Tokens tokens_;
  std::int64_t first_position_;
};

class BertEmbeddingGradKernel final : public Kernel {
  using Op = BertEmbeddingGrad;

 public:
  BertEmbeddingGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        deterministic_(context.options.deterministic),
        tokens_(make_tokens(context, context.inputs[Op::dy].shape[-1], offsets_input)),
        rows_(context.op_as<BertEmbeddingGrad>().rows()),
        parts_(std::clamp<std::int64_t>(tokens_.count / 32, 1, 256)) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(parts_ * rows_.token_types * tokens_.width) * sizeof(float);
  }
  KernelRecord record() const override { return {deterministic_ ? "native: ordered" : "native: atomic"}; }

  void run(const KernelArgs& args) override {
    const auto* dy = static_cast<const float*>(args.inputs[Op::dy]);
    const Tokens tokens = placed(tokens_, args, offsets_input);
    table_gradient(device_, deterministic_, tokens, rows_.words, args.inputs[Op::ids], dy, args.outputs[0]);
    auto* positions = static_cast<float*>(args.outputs[1]);
    const std::int64_t unread = rows_.first_position * tokens_.width, read = rows_.positions - rows_.first_position;
    if (unread > 0) {  // a recorded memset of no bytes is an error
      CUDA_CHECK(cudaMemsetAsync(positions, 0, static_cast<std::size_t>(unread) * sizeof(float), device_.stream()));
    }
    launch(position_grad_kernel, blocks_for(read * tokens_.width), block_threads, device_, tokens, read, dy,
           positions + unread);
    auto* partials = static_cast<float*>(args.workspace);
    const dim3 grid(blocks_for(tokens_.width), static_cast<unsigned>(parts_), static_cast<unsigned>(rows_.token_types));
    launch(type_partials_kernel, grid, block_threads, device_, tokens,
           static_cast<const std::int32_t*>(args.inputs[Op::token_types]), dy, partials);
    join_partial_sums(device_, partials, parts_, rows_.token_types * tokens_.width, DType::f32, args.outputs[2]);
  }

 private:
  static constexpr std::size_t offsets_input = 3;

  Device& device_;
  bool deterministic_;
  Tokens tokens_;
  BertTableRows rows_;
  std::int64_t parts_;
};

}  // namespace

std::unique_ptr<Kernel> make_bert_embedding(const KernelContext& context, Device& device) {
  return std::make_unique<BertEmbeddingKernel>(context, device);
}
std::unique_ptr<Kernel> make_bert_embedding_grad(const KernelContext& context, Device& device) {
  return std::make_unique<BertEmbeddingGradKernel>(context, device);
}
std::unique_ptr<Kernel> make_embedding(const KernelContext& context, Device& device) {
  return std::make_unique<EmbeddingKernel>(context, device);
}
std::unique_ptr<Kernel> make_embedding_grad(const KernelContext& context, Device& device) {
  return std::make_unique<EmbeddingGradKernel>(context, device);
}

}  // namespace ptrain::cuda
