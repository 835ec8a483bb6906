#include "core/ops/detection/match_boxes.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"

namespace ptrain::cpu {
namespace {

class MatchBoxesKernel final : public Kernel {
 public:
  explicit MatchBoxesKernel(const KernelContext& context)
      : attributes_(context.op_as<MatchBoxes>().attrs()),
        boxes_(context.inputs[MatchBoxes::boxes].shape),
        objects_(context.inputs[MatchBoxes::objects].shape) {}

  void run(const KernelArgs& args) override {
    const auto* boxes = static_cast<const float*>(args.inputs[MatchBoxes::boxes]);
    const auto* objects = static_cast<const float*>(args.inputs[MatchBoxes::objects]);
    auto* matches = static_cast<std::int32_t*>(args.outputs[0]);
    parallel_for(boxes_[0] * boxes_[1], 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        matches[i] = match(read_corners(boxes + i * boxes_[2]), objects + i / boxes_[1] * objects_[1] * objects_[2]);
      }
    });
  }

 private:
  std::int32_t match(const CornerBox& box, const float* objects) const {
    if (!(box.width() > 0) || !(box.height() > 0)) return BoxMatch::ignored;
    float best = 0;
    auto found = BoxMatch::background;
    for (std::int64_t i = 0; i < objects_[1]; ++i) {
      const float overlap = intersection_over_union(read_corners(objects + i * objects_[2]), box);
      if (!(overlap > best)) continue;
      best = overlap;
      found = static_cast<std::int32_t>(i);
    }
    if (found >= 0 && best >= attributes_.positive) return found;
    return best < attributes_.background ? BoxMatch::background : BoxMatch::ignored;
  }

  MatchBoxesAttributes attributes_;
  Shape boxes_, objects_;
};

}  // namespace

std::unique_ptr<Kernel> make_match_boxes(const KernelContext& context) {
  return std::make_unique<MatchBoxesKernel>(context);
}

}  // namespace ptrain::cpu
