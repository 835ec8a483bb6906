// A thread per region writes the keys of its candidates; one block per image sorts them and suppresses.
#include "core/ops/detection/detect_regions.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/detection/suppression.cuh"
#include "core/cuda/primitives/launch.cuh"

#include <bit>

namespace ptrain::cuda {
namespace {

struct RegionSizes {
  int regions, columns, classes;
  int max_classes_per_region;  // candidates of a region
  int slots;                   // candidates of an image, a power of two
};

template <typename T>
__global__ void __launch_bounds__(block_threads)
    score_kernel(const float* boxes, const T* logits, RegionSizes sizes, float least_score, Key* keys) {
  keys += static_cast<std::int64_t>(blockIdx.y) * sizes.slots;
  for (int i = sizes.regions * sizes.max_classes_per_region + static_cast<int>(grid_thread()); i < sizes.slots;
       i += static_cast<int>(grid_threads()))
    keys[i] = 0;
  for (int region = static_cast<int>(grid_thread()); region < sizes.regions;
       region += static_cast<int>(grid_threads())) {
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * sizes.regions + region;
    const T* own = logits + row * sizes.classes;
    Key* to = keys + region * sizes.max_classes_per_region;
    for (int i = 0; i < sizes.max_classes_per_region; ++i) to[i] = 0;
    const CornerBox box = read_corners(boxes + row * sizes.columns);
    if (!(box.width() > 0) || !(box.height() > 0)) continue;
    float largest = to_float(own[0]), sum = 0;
    for (int k = 1; k < sizes.classes; ++k) largest = fmaxf(largest, to_float(own[k]));
    for (int k = 0; k < sizes.classes; ++k) sum += expf(to_float(own[k]) - largest);
    int found = 0;
    for (int k = 1; k < sizes.classes && found < sizes.max_classes_per_region; ++k) {
      const float score = expf(to_float(own[k]) - largest) / sum;
      if (score > least_score) to[found++] = make_key(score, static_cast<std::uint32_t>(region * sizes.classes + k));
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    suppress_regions_kernel(Key* keys, const float* boxes, const T* deltas, const float* placements, RegionSizes sizes,
                            RegionDetectionAttributes attributes, FoundObject* found, float* rows,
                            std::int32_t* classes) {
  const std::int64_t image = blockIdx.x;
  keys += image * sizes.slots;
  boxes += image * sizes.regions * sizes.columns;
  deltas += image * sizes.regions * sizes.classes * 4;
  sort_descending(keys, sizes.slots);
  const SuppressionLimits limits{attributes.overlap, attributes.least_side, attributes.per_image};
  rows += image * attributes.per_image * DetectObjects::columns;
  suppress(keys, sizes.slots, limits, found + image * sizes.slots, rows, [&](Key key) -> FoundObject {
    const std::int64_t position = get_position(key);
    const auto label = static_cast<std::int32_t>(position % sizes.classes);
    const CornerBox region = read_corners(boxes + position / sizes.classes * sizes.columns);
    const CornerBox box = decode_box(read_deltas(deltas + position * 4) / attributes.weights, region);
    return {clip_to_image(box, attributes.width, attributes.height, placement_of_block(placements)), get_number(key),
            label - 1, label, 1};
  });
  __syncthreads();
  for (int i = threadIdx.x; i < attributes.per_image; i += block_threads) {
    classes[image * attributes.per_image + i] =
        1 + static_cast<std::int32_t>(rows[i * DetectObjects::columns + DetectObjects::label]);
  }
}

class DetectRegionsKernel final : public Kernel {
 public:
  DetectRegionsKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<DetectRegions>().attrs()),
        logits_(context.inputs[DetectRegions::logits]) {
    sizes_.regions = static_cast<int>(logits_.shape[1]);
    sizes_.columns = static_cast<int>(context.inputs[DetectRegions::regions].shape[2]);
    sizes_.classes = static_cast<int>(logits_.shape[2]);
    sizes_.max_classes_per_region =
        static_cast<int>(DetectRegions::max_classes_per_region(attributes_, logits_.shape[2]));
    sizes_.slots =
        static_cast<int>(std::bit_ceil(static_cast<unsigned>(sizes_.regions * sizes_.max_classes_per_region)));
  }

  std::size_t workspace_bytes() const override { return slots() * (sizeof(Key) + sizeof(FoundObject)); }

  void run(const KernelArgs& args) override {
    const auto images = static_cast<unsigned>(logits_.shape[0]);
    const auto* boxes = static_cast<const float*>(args.inputs[DetectRegions::regions]);
    auto* keys = static_cast<Key*>(args.workspace);
    auto* found = reinterpret_cast<FoundObject*>(keys + slots());
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(score_kernel<T>, dim3(blocks_for(sizes_.regions), images), block_threads, device_, boxes,
             static_cast<const T*>(args.inputs[DetectRegions::logits]), sizes_, attributes_.score, keys);
      launch(suppress_regions_kernel<T>, images, block_threads, device_, keys, boxes,
             static_cast<const T*>(args.inputs[DetectRegions::deltas]),
             find_placements(args, DetectRegions::placements), sizes_, attributes_, found,
             static_cast<float*>(args.outputs[DetectRegions::detections]),
             static_cast<std::int32_t*>(args.outputs[DetectRegions::logit_classes]));
    });
  }

 private:
  std::size_t slots() const {
    return static_cast<std::size_t>(logits_.shape[0]) * static_cast<std::size_t>(sizes_.slots);
  }

  Device& device_;
  RegionDetectionAttributes attributes_;
  TensorDesc logits_;
  RegionSizes sizes_{};
};

}  // namespace

std::unique_ptr<Kernel> make_detect_regions(const KernelContext& context, Device& device) {
  return std::make_unique<DetectRegionsKernel>(context, device);
}

}  // namespace ptrain::cuda
