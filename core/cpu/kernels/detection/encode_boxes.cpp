#include "core/ops/detection/encode_boxes.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class EncodeBoxesKernel final : public Kernel {
 public:
  explicit EncodeBoxesKernel(const KernelContext& context)
      : weights_(context.op_as<EncodeBoxes>().attrs()),
        boxes_(context.inputs[EncodeBoxes::boxes].shape),
        objects_(context.inputs[EncodeBoxes::objects].shape) {}

  void run(const KernelArgs& args) override {
    parallel_for(boxes_[0] * boxes_[1], 256, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto* box = static_cast<const float*>(args.inputs[EncodeBoxes::boxes]) + i * boxes_[2];
        const auto* object = static_cast<const float*>(args.inputs[EncodeBoxes::objects]) + i * objects_[2];
        const BoxDeltas deltas = encode_match(read_corners(object), read_corners(box), weights_);
        auto* to = static_cast<float*>(args.outputs[0]) + 4 * i;
        to[0] = deltas.x;
        to[1] = deltas.y;
        to[2] = deltas.width;
        to[3] = deltas.height;
      }
    });
  }

 private:
  BoxWeights weights_;
  Shape boxes_, objects_;
};

}  // namespace

std::unique_ptr<Kernel> make_encode_boxes(const KernelContext& context) {
  return std::make_unique<EncodeBoxesKernel>(context);
}

}  // namespace ptrain::cpu
