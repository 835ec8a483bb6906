// Greedy non-maximum suppression by a block.
#pragma once

#include "core/cuda/kernels/detection/ordered_keys.cuh"
#include "core/ops/detection/detect_objects.h"

namespace ptrain::cuda {

struct FoundObject {
  CornerBox box;
  float score;
  std::int32_t label;
  std::int32_t group;  // boxes of one group suppress each other
  std::int32_t alive;
};

struct SuppressionLimits {
  float overlap;
  float least_side;  // px
  int per_image;     // objects
};

/// Writes rows [per_image, DetectObjects::columns] of sorted keys; find(key) makes a candidate's object. `found` has
/// room for all. For all threads of a block of block_threads.
template <typename Find>
__device__ inline void suppress(const Key* keys, int slots, const SuppressionLimits& limits, FoundObject* found,
                                float* rows, Find find) {
  for (int i = threadIdx.x; i < slots; i += block_threads) {
    found[i].alive = 0;
    if (keys[i] == 0) continue;
    found[i] = find(keys[i]);
    const CornerBox& box = found[i].box;
    found[i].alive = box.width() >= limits.least_side && box.height() >= limits.least_side ? 1 : 0;
  }
  __syncthreads();
  int kept = 0;
  for (int i = 0; i < slots && kept < limits.per_image; ++i) {
    if (keys[i] == 0) break;
    const FoundObject one = found[i];
    if (one.alive == 0) continue;
    if (threadIdx.x == 0) {
      float* row = rows + kept * DetectObjects::columns;
      row[DetectObjects::x0] = one.box.x0;
      row[DetectObjects::y0] = one.box.y0;
      row[DetectObjects::x1] = one.box.x1;
      row[DetectObjects::y1] = one.box.y1;
      row[DetectObjects::score] = one.score;
      row[DetectObjects::label] = static_cast<float>(one.label);
    }
    ++kept;
    for (int j = i + 1 + threadIdx.x; j < slots; j += block_threads) {
      if (found[j].alive == 0 || found[j].group != one.group) continue;
      if (intersection_over_union(one.box, found[j].box) > limits.overlap) found[j].alive = 0;
    }
    __syncthreads();
  }
  for (int i = kept * DetectObjects::columns + threadIdx.x; i < limits.per_image * DetectObjects::columns;
       i += block_threads) {
    rows[i] = i % DetectObjects::columns == DetectObjects::label ? -1.0f : 0.0f;
  }
}

/// An optional input of placements; null without it.
inline const float* find_placements(const KernelArgs& args, std::size_t input) {
  return args.inputs.size() > input ? static_cast<const float*>(args.inputs[input]) : nullptr;
}
/// The row of the block's image.
__device__ inline const float* placement_of_block(const float* placements) {
  return placements == nullptr ? nullptr : placements + blockIdx.x * placement_columns;
}

/// Four adjacent elements.
template <typename T>
__device__ inline BoxDeltas read_deltas(const T* from) {
  return {to_float(from[0]), to_float(from[1]), to_float(from[2]), to_float(from[3])};
}

}  // namespace ptrain::cuda
