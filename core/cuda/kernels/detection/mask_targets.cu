// A thread per element of a target looks up all pixels that it reads.
#include "core/ops/detection/mask_targets.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/placed_mask.h"
#include "core/ops/math/roi_align.h"

namespace ptrain::cuda {
namespace {

struct TargetSizes {
  std::int64_t boxes, box_columns, objects, runs, placement_columns;
  int bins;
};

__device__ inline float read_sample(const PlacedMask& mask, const RoiAxis::Tap& y, const RoiAxis::Tap& x) {
  const auto read = [&](std::int32_t row, std::int32_t column, float share) {
    return share != 0 && mask.at(row, column) ? share : 0.0f;
  };
  return read(y.first, x.first, y.first_share * x.first_share) +
         read(y.first, x.second, y.first_share * x.second_share) +
         read(y.second, x.first, y.second_share * x.first_share) +
         read(y.second, x.second, y.second_share * x.second_share);
}

__global__ void __launch_bounds__(block_threads)
    mask_targets_kernel(const float* boxes, const std::int32_t* matches, const std::int32_t* ranges,
                        const std::int32_t* runs, const float* placements, TargetSizes sizes, std::int64_t items,
                        float* to) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const std::int64_t box = item / (sizes.bins * sizes.bins), image = box / sizes.boxes;
    const auto bin = static_cast<int>(item % (sizes.bins * sizes.bins));
    const std::int32_t object = matches[box];
    to[item] = 0;
    if (object < 0 || object >= sizes.objects) continue;
    const std::int32_t* range = ranges + (image * sizes.objects + object) * 2;
    const PlacedMask mask(placements + image * sizes.placement_columns, runs + image * sizes.runs + range[0], range[1]);
    const CornerBox corners = read_corners(boxes + box * sizes.box_columns);
    const RoiAxis rows(corners.y0, corners.y1, 1, sizes.bins, 0, mask.placed_height);
    const RoiAxis columns(corners.x0, corners.x1, 1, sizes.bins, 0, mask.placed_width);
    float sum = 0;
    for (int i = 0; i < rows.samples; ++i) {
      const RoiAxis::Tap y = rows.tap(bin / sizes.bins, i);
      for (int j = 0; j < columns.samples; ++j) sum += read_sample(mask, y, columns.tap(bin % sizes.bins, j));
    }
    to[item] = sum / static_cast<float>(rows.samples * columns.samples);
  }
}

class MaskTargetsKernel final : public Kernel {
 public:
  MaskTargetsKernel(const KernelContext& context, Device& device)
      : device_(device), count_(context.outputs[0].count()), sizes_{context.inputs[MaskTargets::boxes].shape[1],
                                                                    context.inputs[MaskTargets::boxes].shape[2],
                                                                    context.inputs[MaskTargets::ranges].shape[1],
                                                                    context.inputs[MaskTargets::runs].shape[1],
                                                                    context.inputs[MaskTargets::placements].shape[1],
                                                                    context.op_as<MaskTargets>().attrs().bins} {}

  void run(const KernelArgs& args) override {
    launch(mask_targets_kernel, grid_blocks(device_, count_), block_threads, device_,
           static_cast<const float*>(args.inputs[MaskTargets::boxes]),
           static_cast<const std::int32_t*>(args.inputs[MaskTargets::matches]),
           static_cast<const std::int32_t*>(args.inputs[MaskTargets::ranges]),
           static_cast<const std::int32_t*>(args.inputs[MaskTargets::runs]),
           static_cast<const float*>(args.inputs[MaskTargets::placements]), sizes_, count_,
           static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  std::int64_t count_;
  TargetSizes sizes_;
};

}  // namespace

std::unique_ptr<Kernel> make_mask_targets(const KernelContext& context, Device& device) {
  return std::make_unique<MaskTargetsKernel>(context, device);
}

}  // namespace ptrain::cuda
