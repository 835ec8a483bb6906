#include "core/ops/detection/encode_boxes.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

__global__ void __launch_bounds__(block_threads)
    encode_boxes_kernel(const float* boxes, std::int64_t box_columns, const float* objects, std::int64_t object_columns,
                        std::int64_t count, BoxWeights weights, float* to) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const BoxDeltas deltas =
        encode_match(read_corners(objects + i * object_columns), read_corners(boxes + i * box_columns), weights);
    to[4 * i] = deltas.x;
    to[4 * i + 1] = deltas.y;
    to[4 * i + 2] = deltas.width;
    to[4 * i + 3] = deltas.height;
  }
}

class EncodeBoxesKernel final : public Kernel {
 public:
  EncodeBoxesKernel(const KernelContext& context, Device& device)
      : device_(device),
        weights_(context.op_as<EncodeBoxes>().attrs()),
        count_(context.outputs[0].count() / 4),
        box_columns_(context.inputs[EncodeBoxes::boxes].shape[2]),
        object_columns_(context.inputs[EncodeBoxes::objects].shape[2]) {}

  void run(const KernelArgs& args) override {
    launch(encode_boxes_kernel, grid_blocks(device_, count_), block_threads, device_,
           static_cast<const float*>(args.inputs[EncodeBoxes::boxes]), box_columns_,
           static_cast<const float*>(args.inputs[EncodeBoxes::objects]), object_columns_, count_, weights_,
           static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  BoxWeights weights_;
  std::int64_t count_, box_columns_, object_columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_encode_boxes(const KernelContext& context, Device& device) {
  return std::make_unique<EncodeBoxesKernel>(context, device);
}

}  // namespace ptrain::cuda
