// One block per image and level selects the best candidates by their bits; one block per image sorts them and
// suppresses.
#include "core/ops/detection/detect_objects.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/detection/suppression.cuh"
#include "core/cuda/primitives/launch.cuh"
#include "core/ops/math/binary_cross_entropy_math.h"

#include <bit>

namespace ptrain::cuda {
namespace {

struct Sizes {
  std::int64_t anchors, classes;
  int slots;  // candidates of an image, a power of two
};

template <typename T>
__global__ void __launch_bounds__(block_threads)
    select_kernel(const T* logits, Sizes sizes, DetectionAttributes attributes, Key* keys) {
  const AnchorLevel& level = attributes.anchors.level[blockIdx.x];
  const T* image = logits + blockIdx.y * sizes.anchors * sizes.classes;
  Key* to = keys + static_cast<std::int64_t>(blockIdx.y) * sizes.slots + blockIdx.x * attributes.per_level;
  const std::int64_t begin = level.first * sizes.classes, end = begin + level.count() * sizes.classes;
  select_largest(begin, end, attributes.per_level, to, [&](std::int64_t position) -> Key {
    const float logit = to_float(image[position]);
    return logistic(logit) > attributes.score ? make_key(logit, static_cast<std::uint32_t>(position)) : 0;
  });
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    suppress_kernel(Key* keys, const T* deltas, const float* placements, Sizes sizes, DetectionAttributes attributes,
                    FoundObject* found, float* rows) {
  keys += static_cast<std::int64_t>(blockIdx.x) * sizes.slots;
  deltas += blockIdx.x * sizes.anchors * 4;
  for (int i = attributes.anchors.levels * attributes.per_level + threadIdx.x; i < sizes.slots; i += block_threads)
    keys[i] = 0;
  sort_descending(keys, sizes.slots);
  const SuppressionLimits limits{attributes.overlap, attributes.least_side, attributes.per_image};
  suppress(keys, sizes.slots, limits, found + static_cast<std::int64_t>(blockIdx.x) * sizes.slots,
           rows + static_cast<std::int64_t>(blockIdx.x) * attributes.per_image * DetectObjects::columns,
           [&](Key key) -> FoundObject {
             const std::int64_t position = get_position(key), anchor = position / sizes.classes;
             const CornerBox box =
                 decode_box(attributes.form, read_deltas(deltas + anchor * 4), attributes.anchors.at(anchor));
             const auto label = static_cast<std::int32_t>(position % sizes.classes);
             const bool by_class = attributes.within == SuppressWithin::classes;
             return {clip_to_image(box, attributes.width, attributes.height, placement_of_block(placements)),
                     logistic(get_number(key)), label, by_class ? label : attributes.anchors.find_level(anchor), 1};
           });
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

  std::size_t workspace_bytes() const override { return slots() * (sizeof(Key) + sizeof(FoundObject)); }

  void run(const KernelArgs& args) override {
    const auto images = static_cast<unsigned>(logits_.shape[0]);
    auto* keys = static_cast<Key*>(args.workspace);
    auto* found = reinterpret_cast<FoundObject*>(keys + slots());
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(select_kernel<T>, dim3(static_cast<unsigned>(attributes_.anchors.levels), images), block_threads, device_,
             static_cast<const T*>(args.inputs[DetectObjects::logits]), sizes_, attributes_, keys);
      launch(suppress_kernel<T>, images, block_threads, device_, keys,
             static_cast<const T*>(args.inputs[DetectObjects::deltas]),
             find_placements(args, DetectObjects::placements), sizes_, attributes_, found,
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
