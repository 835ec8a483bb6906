#include "core/ops/text/rotary_embedding.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/sequences.h"

#include <algorithm>

namespace ptrain::cuda {
namespace {

constexpr int most_pairs = 512;

/// A kernel's argument.
struct Frequencies {
  float values[most_pairs];
};

__global__ void __launch_bounds__(block_threads)
    rotary_table_kernel(std::int64_t tokens, std::int64_t pairs, SequencePlaces places, Frequencies frequencies,
                        bool sines_first, float* table) {
  for (std::int64_t i = grid_thread(); i < tokens * pairs; i += grid_threads()) {
    const std::int64_t token = i / pairs, pair = i % pairs, position = places.position(token);
    const float angle = static_cast<float>(position < 0 ? 0 : position) * frequencies.values[pair];
    table[2 * token * pairs + pair] = sines_first ? sinf(angle) : cosf(angle);
    table[(2 * token + 1) * pairs + pair] = sines_first ? cosf(angle) : sinf(angle);
  }
}

struct Extents {
  std::int64_t tokens, width, depth, rotated, table_rows;  // width and rotated: channels of a token
};

/// A thread takes n pairs of a head, or n channels that are copied. y may be x.
template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    rotary_embedding_kernel(Extents e, float direction, const T* x, const float* table, T* y) {
  const std::int64_t half = e.depth / 2, pairs = e.rotated / 2, items = pairs + e.width - e.rotated;
  for (std::int64_t i = grid_thread() * n; i < e.tokens * items; i += grid_threads() * n) {
    const std::int64_t token = i / items, item = i % items;
    if (item >= pairs) {
      float values[n];
      const std::int64_t at = token * e.width + e.rotated + item - pairs;
      load(x + at, values);
      store(y + at, values);
      continue;
    }
    const std::int64_t pair = item % half, at = token * e.width + item / half * e.depth + pair;
    const float* const row = table + token % e.table_rows * e.depth + pair;
    float first[n], second[n], cosine[n], sine[n];
    load(x + at, first);
    load(x + at + half, second);
    load(row, cosine);
    load(row + half, sine);
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const float a = first[k], b = second[k], s = direction * sine[k];
      first[k] = a * cosine[k] - b * s;
      second[k] = b * cosine[k] + a * s;
    }
    store(y + at, first);
    store(y + at + half, second);
  }
}

class RotaryTableKernel final : public Kernel {
  using Op = RotaryTable;

 public:
  RotaryTableKernel(const KernelContext& context, Device& device)
      : device_(device),
        tokens_(context.outputs[0].shape[0]),
        pairs_(context.outputs[0].shape[1] / 2),
        sequences_(context.inputs.size() > Op::offsets ? context.inputs[Op::offsets].shape[0] - 1 : 1),
        sines_first_(context.op_as<RotaryTable>().attrs().sines_first) {
    const std::vector<float> frequencies = rotary_frequencies(context.op_as<RotaryTable>().attrs());
    std::copy(frequencies.begin(), frequencies.end(), frequencies_.values);
  }

  void run(const KernelArgs& args) override {
    launch(rotary_table_kernel, grid_blocks(device_, tokens_ * pairs_), block_threads, device_, tokens_, pairs_,
           sequence_places(sequences_, tokens_, args.inputs, Op::offsets), frequencies_, sines_first_,
           static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  std::int64_t tokens_, pairs_, sequences_;
  bool sines_first_;
  Frequencies frequencies_{};
};

class RotaryEmbeddingKernel final : public Kernel {
  using Op = RotaryEmbedding;

 public:
  RotaryEmbeddingKernel(const KernelContext& context, Device& device)
      : device_(device), dtype_(context.inputs[Op::x].dtype) {
    const TensorDesc &x = context.inputs[Op::x], &table = context.inputs[Op::table];
    const RotaryEmbeddingAttributes& attributes = context.op_as<RotaryEmbedding>().attrs();
    direction_ = attributes.inverse ? -1.0f : 1.0f;
    const std::int64_t width = x.shape[-1], depth = table.shape[1];
    e_ = {x.count() / width, width, depth, attributes.heads * depth, table.shape[0]};
  }

  void run(const KernelArgs& args) override {
    const bool packs = row_pack(e_.depth / 2) == pack && row_pack(e_.width) == pack;
    visit_row_pack(packs ? pack : 1, dtype_, [&](auto n, auto zero) {
      constexpr int packed = decltype(n)::value;
      using T = decltype(zero);
      const std::int64_t items = e_.tokens * (e_.width - e_.rotated / 2);
      launch(rotary_embedding_kernel<packed, T>, grid_blocks(device_, items / packed), block_threads, device_, e_,
             direction_, static_cast<const T*>(args.inputs[Op::x]), static_cast<const float*>(args.inputs[Op::table]),
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  DType dtype_;
  float direction_;
  Extents e_{};
};

}  // namespace

std::unique_ptr<Kernel> make_rotary_table(const KernelContext& context, Device& device) {
  return std::make_unique<RotaryTableKernel>(context, device);
}
std::unique_ptr<Kernel> make_rotary_embedding(const KernelContext& context, Device& device) {
  return std::make_unique<RotaryEmbeddingKernel>(context, device);
}

}  // namespace ptrain::cuda
