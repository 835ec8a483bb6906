// A thread per box looks through the objects of its image.
#include "core/ops/detection/match_boxes.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

struct MatchSizes {
  std::int64_t boxes, box_columns, objects, object_columns;
};

__global__ void __launch_bounds__(block_threads)
    match_boxes_kernel(const float* boxes, const float* objects, MatchSizes sizes, std::int64_t count,
                       MatchBoxesAttributes attributes, std::int32_t* matches) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const CornerBox box = read_corners(boxes + i * sizes.box_columns);
    const float* of_image = objects + i / sizes.boxes * sizes.objects * sizes.object_columns;
    float best = 0;
    std::int32_t found = BoxMatch::background;
    for (std::int64_t k = 0; k < sizes.objects; ++k) {
      const float overlap = intersection_over_union(read_corners(of_image + k * sizes.object_columns), box);
      if (!(overlap > best)) continue;
      best = overlap;
      found = static_cast<std::int32_t>(k);
    }
    if (found < 0 || best < attributes.positive)
      found = best < attributes.background ? BoxMatch::background : BoxMatch::ignored;
    matches[i] = box.width() > 0 && box.height() > 0 ? found : BoxMatch::ignored;
  }
}

class MatchBoxesKernel final : public Kernel {
 public:
  MatchBoxesKernel(const KernelContext& context, Device& device)
      : device_(device), attributes_(context.op_as<MatchBoxes>().attrs()), count_(context.outputs[0].count()) {
    const Shape &boxes = context.inputs[MatchBoxes::boxes].shape, &objects = context.inputs[MatchBoxes::objects].shape;
    sizes_ = {boxes[1], boxes[2], objects[1], objects[2]};
  }

  void run(const KernelArgs& args) override {
    launch(match_boxes_kernel, grid_blocks(device_, count_), block_threads, device_,
           static_cast<const float*>(args.inputs[MatchBoxes::boxes]),
           static_cast<const float*>(args.inputs[MatchBoxes::objects]), sizes_, count_, attributes_,
           static_cast<std::int32_t*>(args.outputs[0]));
  }

 private:
  Device& device_;
  MatchBoxesAttributes attributes_;
  std::int64_t count_;
  MatchSizes sizes_{};
};

}  // namespace

std::unique_ptr<Kernel> make_match_boxes(const KernelContext& context, Device& device) {
  return std::make_unique<MatchBoxesKernel>(context, device);
}

}  // namespace ptrain::cuda
