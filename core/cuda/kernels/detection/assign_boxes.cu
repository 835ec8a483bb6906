// One block per image and object selects the object's candidates; a thread per anchor takes its object; one block per
// image and object finds its best anchors, by which threads per anchor scale the scores.
#include "core/ops/detection/assign_boxes.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/detection/ordered_keys.cuh"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/ops/detection/detect_objects.h"
#include "core/ops/math/binary_cross_entropy_math.h"

namespace ptrain::cuda {
namespace {

/// The best of an object's anchors.
struct Best {
  float alignment, overlap;
};

/// What all kernels read of a batch.
template <typename T>
struct Assignment {
  const T* logits;
  const float* distances;
  const float* objects;
  std::int64_t images, anchors, classes, objects_per_image;

  __device__ const float* object_row(std::int64_t image, std::int64_t object) const {
    return objects + (image * objects_per_image + object) * DetectObjects::columns;
  }
  __device__ std::int32_t label(std::int64_t image, std::int64_t object) const {
    return static_cast<std::int32_t>(object_row(image, object)[DetectObjects::label]);
  }
  /// Whether a row is an object.
  __device__ bool has(std::int64_t image, std::int64_t object) const {
    const CornerBox box = read_corners(object_row(image, object));
    const std::int32_t own = label(image, object);
    return box.width() > 0 && box.height() > 0 && own >= 0 && own < classes;
  }
  __device__ CornerBox predicted(std::int64_t image, std::int64_t anchor, const CornerBox& cell) const {
    const float* d = distances + (image * anchors + anchor) * 4;
    return decode_distances({d[0], d[1], d[2], d[3]}, cell);
  }
  __device__ float align(std::int64_t image, std::int64_t anchor, std::int64_t object, float overlap) const {
    const float logit = to_float(logits[(image * anchors + anchor) * classes + label(image, object)]);
    return measure_alignment(logistic(logit), overlap);
  }
};

template <typename T>
__global__ void __launch_bounds__(block_threads)
    select_candidates_kernel(Assignment<T> batch, AssignBoxesAttributes attributes, Key* keys) {
  const std::int64_t object = blockIdx.x, image = blockIdx.y;
  Key* to = keys + (image * batch.objects_per_image + object) * attributes.per_object;
  const bool is_one = batch.has(image, object);
  const CornerBox box = read_corners(batch.object_row(image, object));
  select_largest(0, is_one ? batch.anchors : 0, attributes.per_object, to, [&](std::int64_t anchor) -> Key {
    const CornerBox cell = attributes.anchors.at(anchor);
    if (!has_centre(box, cell)) return 0;
    const float overlap = intersection_over_union(box, batch.predicted(image, anchor, cell));
    const float alignment = batch.align(image, anchor, object, overlap);
    return alignment > 0 ? make_key(alignment, static_cast<std::uint32_t>(anchor)) : 0;
  });
}

/// Writes the object of each anchor, -1 for none.
template <typename T>
__global__ void __launch_bounds__(block_threads)
    choose_kernel(Assignment<T> batch, AssignBoxesAttributes attributes, const Key* keys, std::int32_t* chosen) {
  const std::int64_t candidates = batch.objects_per_image * attributes.per_object;
  for (std::int64_t i = grid_thread(); i < batch.images * batch.anchors; i += grid_threads()) {
    const std::int64_t image = i / batch.anchors, anchor = i % batch.anchors;
    std::int32_t owner = -1;
    bool is_contested = false;
    for (std::int64_t k = 0; k < candidates; ++k) {
      const Key key = keys[image * candidates + k];
      if (key == 0 || get_position(key) != anchor) continue;
      is_contested = owner >= 0;
      owner = static_cast<std::int32_t>(k / attributes.per_object);
    }
    if (is_contested) {
      const CornerBox box = batch.predicted(image, anchor, attributes.anchors.at(anchor));
      float largest = -1;
      for (std::int64_t object = 0; object < batch.objects_per_image; ++object) {
        if (!batch.has(image, object)) continue;
        const float overlap = intersection_over_union(read_corners(batch.object_row(image, object)), box);
        if (!(overlap > largest)) continue;
        largest = overlap;
        owner = static_cast<std::int32_t>(object);
      }
    }
    chosen[i] = owner;
  }
}

__device__ float block_max(float value) {
  __shared__ float partial[block_threads / 32];
  value = warp_max(value);
  __syncthreads();  // the last call's partial values have been read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float largest = 0;
  for (const float part : partial) largest = fmaxf(largest, part);
  return largest;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    find_best_kernel(Assignment<T> batch, AssignBoxesAttributes attributes, const std::int32_t* chosen, Best* best) {
  const std::int64_t object = blockIdx.x, image = blockIdx.y;
  const CornerBox box = read_corners(batch.object_row(image, object));
  Best own{0, 0};
  for (std::int64_t anchor = threadIdx.x; anchor < batch.anchors; anchor += block_threads) {
    if (chosen[image * batch.anchors + anchor] != object) continue;
    const float overlap = intersection_over_union(box, batch.predicted(image, anchor, attributes.anchors.at(anchor)));
    own = {fmaxf(own.alignment, batch.align(image, anchor, object, overlap)), fmaxf(own.overlap, overlap)};
  }
  const float alignment = block_max(own.alignment), overlap = block_max(own.overlap);
  if (threadIdx.x == 0) best[image * batch.objects_per_image + object] = {alignment, overlap};
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    write_targets_kernel(Assignment<T> batch, AssignBoxesAttributes attributes, const std::int32_t* chosen,
                         const Best* best, std::int32_t* labels, float* scores, float* targets) {
  for (std::int64_t i = grid_thread(); i < batch.images * batch.anchors; i += grid_threads()) {
    const std::int64_t image = i / batch.anchors, anchor = i % batch.anchors, object = chosen[i];
    std::int32_t label = -1;
    float score = 0;
    SideDistances wanted;
    if (object >= 0) {
      const CornerBox box = read_corners(batch.object_row(image, object)), cell = attributes.anchors.at(anchor);
      const float overlap = intersection_over_union(box, batch.predicted(image, anchor, cell));
      const Best own = best[image * batch.objects_per_image + object];
      label = batch.label(image, object);
      score = score_alignment(batch.align(image, anchor, object, overlap), own.alignment, own.overlap);
      wanted = encode_distances(box, cell);
    }
    labels[i] = label;
    scores[i] = score;
    targets[4 * i] = wanted.left;
    targets[4 * i + 1] = wanted.top;
    targets[4 * i + 2] = wanted.right;
    targets[4 * i + 3] = wanted.bottom;
  }
}

class AssignBoxesKernel final : public Kernel {
 public:
  AssignBoxesKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<AssignBoxes>().attrs()),
        logits_(context.inputs[AssignBoxes::logits]),
        objects_(context.inputs[AssignBoxes::objects].shape[1]) {}

  std::size_t workspace_bytes() const override {
    return candidates() * sizeof(Key) + object_rows() * sizeof(Best) + anchor_rows() * sizeof(std::int32_t);
  }

  void run(const KernelArgs& args) override {
    auto* keys = static_cast<Key*>(args.workspace);
    auto* best = reinterpret_cast<Best*>(keys + candidates());
    auto* chosen = reinterpret_cast<std::int32_t*>(best + object_rows());
    const dim3 each_object(static_cast<unsigned>(objects_), static_cast<unsigned>(logits_.shape[0]));
    const auto anchor_blocks = grid_blocks(device_, static_cast<std::int64_t>(anchor_rows()));
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Assignment<T> batch{static_cast<const T*>(args.inputs[AssignBoxes::logits]),
                                static_cast<const float*>(args.inputs[AssignBoxes::distances]),
                                static_cast<const float*>(args.inputs[AssignBoxes::objects]),
                                logits_.shape[0],
                                logits_.shape[1],
                                logits_.shape[2],
                                objects_};
      launch(select_candidates_kernel<T>, each_object, block_threads, device_, batch, attributes_, keys);
      launch(choose_kernel<T>, anchor_blocks, block_threads, device_, batch, attributes_, keys, chosen);
      launch(find_best_kernel<T>, each_object, block_threads, device_, batch, attributes_, chosen, best);
      launch(write_targets_kernel<T>, anchor_blocks, block_threads, device_, batch, attributes_, chosen, best,
             static_cast<std::int32_t*>(args.outputs[AssignBoxes::labels]),
             static_cast<float*>(args.outputs[AssignBoxes::scores]),
             static_cast<float*>(args.outputs[AssignBoxes::targets]));
    });
  }

 private:
  std::size_t object_rows() const { return static_cast<std::size_t>(logits_.shape[0] * objects_); }
  std::size_t anchor_rows() const { return static_cast<std::size_t>(logits_.shape[0] * logits_.shape[1]); }
  std::size_t candidates() const { return object_rows() * static_cast<std::size_t>(attributes_.per_object); }

  Device& device_;
  AssignBoxesAttributes attributes_;
  TensorDesc logits_;
  std::int64_t objects_;
};

}  // namespace

std::unique_ptr<Kernel> make_assign_boxes(const KernelContext& context, Device& device) {
  return std::make_unique<AssignBoxesKernel>(context, device);
}

}  // namespace ptrain::cuda
