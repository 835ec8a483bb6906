// One block per image and level selects the best candidates by their bits; one block per image sorts them and
// suppresses. Candidates are ordered by one 64-bit key: the logit's order in the upper half, the position's in the
// lower one.
#include "core/ops/detection/detect_objects.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/binary_cross_entropy_math.h"

#include <bit>

namespace ptrain::cuda {
namespace {

using Key = unsigned long long;

/// Larger keys come first; 0 is none. Order-preserving bits of the logit, then the reverse of the position.
__device__ inline Key make_key(float logit, std::uint32_t position) {
  const std::uint32_t bits = float_to_bits(logit);
  const std::uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  return static_cast<Key>(ordered) << 32 | (0xffffffffu - position);
}
__device__ inline float get_logit(Key key) {
  const auto ordered = static_cast<std::uint32_t>(key >> 32);
  return bits_to_float((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}
__device__ inline std::uint32_t get_position(Key key) { return 0xffffffffu - static_cast<std::uint32_t>(key); }

struct Sizes {
  std::int64_t anchors, classes;
  int slots;  // candidates of an image, a power of two
};

template <typename T>
__device__ inline Key read_key(const T* logits, std::int64_t position, float score) {
  const float logit = to_float(logits[position]);
  return logistic(logit) > score ? make_key(logit, static_cast<std::uint32_t>(position)) : 0;
}

/// Writes the `per_level` largest keys of a level, in any order. Bit by bit, eight at a time, the prefix of the last of
/// them is found.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    select_kernel(const T* logits, Sizes sizes, DetectionAttributes attributes, Key* keys) {
  constexpr int bins = 256, digit = 8;
  __shared__ unsigned counts[bins];
  __shared__ unsigned written;
  __shared__ Key prefix;       // of the last key to be taken
  __shared__ unsigned wanted;  // of the keys with that prefix
  __shared__ bool all;         // keys with that prefix are taken
  const AnchorLevel& level = attributes.anchors.level[blockIdx.x];
  const T* image = logits + blockIdx.y * sizes.anchors * sizes.classes;
  Key* to = keys + static_cast<std::int64_t>(blockIdx.y) * sizes.slots + blockIdx.x * attributes.per_level;
  const std::int64_t begin = level.first * sizes.classes, end = begin + level.count() * sizes.classes;
  if (threadIdx.x == 0) {
    prefix = 0;
    wanted = static_cast<unsigned>(attributes.per_level);
    all = false;
  }
  __syncthreads();
  int shift = 64;
  while (shift > 0 && !all) {
    shift -= digit;
    for (int b = threadIdx.x; b < bins; b += block_threads) counts[b] = 0;
    __syncthreads();
    for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) {
      const Key key = read_key(image, i, attributes.score);
      const bool has_prefix = shift + digit == 64 || key >> (shift + digit) == prefix;
      if (key != 0 && has_prefix) atomicAdd(&counts[key >> shift & (bins - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int bin = bins - 1;
      while (bin > 0 && counts[bin] < wanted) wanted -= counts[bin--];
      prefix = prefix << digit | static_cast<Key>(bin);
      all = counts[bin] <= wanted;  // also where fewer keys are there than wanted
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) written = 0;
  for (int i = threadIdx.x; i < attributes.per_level; i += block_threads) to[i] = 0;
  __syncthreads();
  for (std::int64_t i = begin + threadIdx.x; i < end; i += block_threads) {
    const Key key = read_key(image, i, attributes.score);
    if (key != 0 && key >> shift >= prefix) to[atomicAdd(&written, 1u)] = key;
  }
}

struct Decoded {
  CornerBox box;
  std::int32_t label;
  std::int32_t alive;
};

/// Sorts an image's keys, the largest first (bitonic).
__global__ void __launch_bounds__(block_threads) sort_kernel(Key* keys, int slots, int used) {
  keys += static_cast<std::int64_t>(blockIdx.x) * slots;
  for (int i = used + threadIdx.x; i < slots; i += block_threads) keys[i] = 0;
  for (int size = 2; size <= slots; size *= 2) {
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < slots; i += block_threads) {
        const int other = i ^ distance;
        if (other < i) continue;
        const bool descending = (i & size) == 0;
        const Key first = keys[i], second = keys[other];
        if (descending == (first < second)) {
          keys[i] = second;
          keys[other] = first;
        }
      }
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    suppress_kernel(const Key* keys, const T* deltas, Sizes sizes, DetectionAttributes attributes, Decoded* decoded,
                    float* rows) {
  keys += static_cast<std::int64_t>(blockIdx.x) * sizes.slots;
  deltas += blockIdx.x * sizes.anchors * 4;
  decoded += static_cast<std::int64_t>(blockIdx.x) * sizes.slots;
  rows += static_cast<std::int64_t>(blockIdx.x) * attributes.per_image * DetectObjects::columns;
  for (int i = threadIdx.x; i < sizes.slots; i += block_threads) {
    decoded[i].alive = keys[i] != 0 ? 1 : 0;
    if (keys[i] == 0) continue;
    const std::int64_t position = get_position(keys[i]), anchor = position / sizes.classes;
    const T* d = deltas + anchor * 4;
    const BoxDeltas moved{to_float(d[0]), to_float(d[1]), to_float(d[2]), to_float(d[3])};
    decoded[i].box = clip_box(decode_box(moved, attributes.anchors.at(anchor)), attributes.width, attributes.height);
    decoded[i].label = static_cast<std::int32_t>(position % sizes.classes);
  }
  __syncthreads();
  int kept = 0;
  for (int i = 0; i < sizes.slots && kept < attributes.per_image; ++i) {
    if (keys[i] == 0) break;
    const Decoded one = decoded[i];
    if (one.alive == 0) continue;
    if (threadIdx.x == 0) {
      float* row = rows + kept * DetectObjects::columns;
      row[DetectObjects::x0] = one.box.x0;
      row[DetectObjects::y0] = one.box.y0;
      row[DetectObjects::x1] = one.box.x1;
      row[DetectObjects::y1] = one.box.y1;
      row[DetectObjects::score] = logistic(get_logit(keys[i]));
      row[DetectObjects::label] = static_cast<float>(one.label);
    }
    ++kept;
    for (int j = i + 1 + threadIdx.x; j < sizes.slots; j += block_threads) {
      if (decoded[j].alive == 0 || decoded[j].label != one.label) continue;
      if (intersection_over_union(one.box, decoded[j].box) > attributes.overlap) decoded[j].alive = 0;
    }
    __syncthreads();
  }
  for (int i = kept * DetectObjects::columns + threadIdx.x; i < attributes.per_image * DetectObjects::columns;
       i += block_threads) {
    rows[i] = i % DetectObjects::columns == DetectObjects::label ? -1.0f : 0.0f;
  }
}

class DetectObjectsKernel final : public Kernel {
 public:
  DetectObjectsKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<DetectObjects>().attrs()),
        logits_(context.inputs[DetectObjects::logits]),
        sizes_{logits_.shape[1], logits_.shape[2],
               static_cast<int>(
                   std::bit_ceil(static_cast<unsigned>(attributes_.anchors.levels * attributes_.per_level)))} {}

  std::size_t workspace_bytes() const override { return slots() * (sizeof(Key) + sizeof(Decoded)); }

  void run(const KernelArgs& args) override {
    const auto images = static_cast<unsigned>(logits_.shape[0]);
    auto* keys = static_cast<Key*>(args.workspace);
    auto* decoded = reinterpret_cast<Decoded*>(keys + slots());
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(select_kernel<T>, dim3(static_cast<unsigned>(attributes_.anchors.levels), images), block_threads, device_,
             static_cast<const T*>(args.inputs[DetectObjects::logits]), sizes_, attributes_, keys);
      launch(sort_kernel, images, block_threads, device_, keys, sizes_.slots,
             attributes_.anchors.levels * attributes_.per_level);
      launch(suppress_kernel<T>, images, block_threads, device_, keys,
             static_cast<const T*>(args.inputs[DetectObjects::deltas]), sizes_, attributes_, decoded,
             static_cast<float*>(args.outputs[0]));
    });
  }

 private:
  std::size_t slots() const {
    return static_cast<std::size_t>(logits_.shape[0]) * static_cast<std::size_t>(sizes_.slots);
  }

  Device& device_;
  DetectionAttributes attributes_;
  TensorDesc logits_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_detect_objects(const KernelContext& context, Device& device) {
  return std::make_unique<DetectObjectsKernel>(context, device);
}

}  // namespace ptrain::cuda
