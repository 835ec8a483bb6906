// RoIAlign and its gradient: a thread computes a few channels of one bin, or of one pixel of a map. In the gradient it
// looks through all regions of its image, in their order, so no atomics are needed.
#include "core/ops/detection/roi_align.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/dispatch.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/pixels.cuh"
#include "core/cuda/primitives/vector.cuh"

#include <algorithm>

namespace ptrain::cuda {
namespace {

struct RoiMaps {
  RoiLevels levels;
  int bins, samples, channels;
  int boxes, columns;  // of an image, and of a box
  int height[RoiLevels::most], width[RoiLevels::most];

  RoiMaps(const RoiAlignAttributes& align, const Shape& boxes_shape, std::span<const Shape> maps)
      : levels(align.levels),
        bins(align.bins),
        samples(align.samples),
        channels(static_cast<int>(maps[0][3])),
        boxes(static_cast<int>(boxes_shape[1])),
        columns(static_cast<int>(boxes_shape[2])),
        height{},
        width{} {
    for (std::size_t i = 0; i < maps.size(); ++i) {
      height[i] = static_cast<int>(maps[i][1]);
      width[i] = static_cast<int>(maps[i][2]);
    }
  }
};

__device__ inline RoiAxis make_rows(const RoiMaps& maps, const CornerBox& box, int level) {
  return {box.y0, box.y1, maps.levels.scale(level), maps.bins, maps.samples, maps.height[level]};
}
__device__ inline RoiAxis make_columns(const RoiMaps& maps, const CornerBox& box, int level) {
  return {box.x0, box.x1, maps.levels.scale(level), maps.bins, maps.samples, maps.width[level]};
}

template <typename T>
struct MapPointers {
  const T* data[RoiLevels::most];
};

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    roi_align_kernel(RoiMaps maps, std::int64_t items, const float* boxes, MapPointers<T> pointers, T* to) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> made(item, maps.bins, maps.bins, maps.channels);  // an "image" is a region
    const CornerBox box = read_corners(boxes + made.image * maps.columns);
    const int level = maps.levels.choose(box), width = maps.width[level];
    const RoiAxis rows = make_rows(maps, box, level), columns = make_columns(maps, box, level);
    const T* map =
        pointers.data[level] + made.image / maps.boxes * maps.height[level] * width * maps.channels + made.channel;
    float sums[n] = {};
    const auto add = [&](int row, int column, float share) {
      if (share == 0) return;
      float values[n];
      load(map + (static_cast<std::int64_t>(row) * width + column) * maps.channels, values);
#pragma unroll
      for (int i = 0; i < n; ++i) sums[i] += values[i] * share;
    };
    for (int i = 0; i < maps.samples; ++i) {
      const RoiAxis::Tap y = rows.tap(made.row, i);
      for (int j = 0; j < maps.samples; ++j) {
        const RoiAxis::Tap x = columns.tap(made.column, j);
        add(y.first, x.first, y.first_share * x.first_share);
        add(y.first, x.second, y.first_share * x.second_share);
        add(y.second, x.first, y.second_share * x.first_share);
        add(y.second, x.second, y.second_share * x.second_share);
      }
    }
    const float share = 1.0f / static_cast<float>(maps.samples * maps.samples);
#pragma unroll
    for (int i = 0; i < n; ++i) sums[i] *= share;
    store(to + item * n, sums);
  }
}

/// The pixels of a map that a region's bins read, with some that they do not.
struct Extent {
  int level, first_row, last_row, first_column, last_column;
};

__device__ inline void bound(const RoiAxis& axis, int bins, int& first, int& last) {
  const float end = axis.start + axis.bin * static_cast<float>(bins);
  const auto size = static_cast<float>(axis.size);
  first = static_cast<int>(fminf(fmaxf(floorf(axis.start), 0.0f), size - 1));
  last = static_cast<int>(fminf(fmaxf(ceilf(end), 0.0f), size - 1));
}

__global__ void __launch_bounds__(block_threads)
    extent_kernel(RoiMaps maps, std::int64_t regions, const float* boxes, Extent* extents) {
  for (std::int64_t i = grid_thread(); i < regions; i += grid_threads()) {
    const CornerBox box = read_corners(boxes + i * maps.columns);
    Extent extent{};
    extent.level = maps.levels.choose(box);
    bound(make_rows(maps, box, extent.level), maps.bins, extent.first_row, extent.last_row);
    bound(make_columns(maps, box, extent.level), maps.bins, extent.first_column, extent.last_column);
    extents[i] = extent;
  }
}

template <int n, typename T>
__global__ void __launch_bounds__(block_threads)
    roi_align_grad_kernel(RoiMaps maps, int level, std::int64_t items, const float* boxes, const Extent* extents,
                          const T* dy, T* to) {
  for (std::int64_t item = grid_thread(); item < items; item += grid_threads()) {
    const Pixel<n> made(item, maps.height[level], maps.width[level], maps.channels);
    float sums[n] = {};
    for (std::int64_t i = made.image * maps.boxes; i < (made.image + 1) * maps.boxes; ++i) {
      const Extent extent = extents[i];
      if (extent.level != level || made.row < extent.first_row || made.row > extent.last_row ||
          made.column < extent.first_column || made.column > extent.last_column)
        continue;
      const CornerBox box = read_corners(boxes + i * maps.columns);
      const RoiAxis rows = make_rows(maps, box, level), columns = make_columns(maps, box, level);
      const T* region = dy + i * maps.bins * maps.bins * maps.channels + made.channel;
      for (int y = 0; y < maps.bins; ++y) {
        const float down = rows.share(y, made.row);
        if (down == 0) continue;
        for (int x = 0; x < maps.bins; ++x) {
          const float share = down * columns.share(x, made.column);
          if (share == 0) continue;
          float values[n];
          load(region + (y * maps.bins + x) * maps.channels, values);
#pragma unroll
          for (int k = 0; k < n; ++k) sums[k] += values[k] * share;
        }
      }
    }
    store(to + item * n, sums);
  }
}

class RoiAlignKernel final : public Kernel {
 public:
  RoiAlignKernel(const KernelContext& context, Device& device, std::span<const Shape> maps)
      : device_(device),
        regions_(context.outputs[0]),
        maps_(context.op_as<RoiAlign>().attrs(), context.inputs[RoiAlign::boxes].shape, maps) {}

  void run(const KernelArgs& args) override {
    visit_row_pack(maps_.channels, regions_.dtype, [&](auto n, auto zero) {
      using T = decltype(zero);
      MapPointers<T> pointers{};
      for (int i = 0; i < maps_.levels.count; ++i)
        pointers.data[i] = static_cast<const T*>(args.inputs[static_cast<std::size_t>(RoiAlign::maps + i)]);
      const std::int64_t items = regions_.count() / decltype(n)::value;
      launch(roi_align_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_, maps_, items,
             static_cast<const float*>(args.inputs[RoiAlign::boxes]), pointers, static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc regions_;
  RoiMaps maps_;
};

class RoiAlignGradKernel final : public Kernel {
 public:
  RoiAlignGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        gradients_(context.outputs.begin(), context.outputs.end()),
        regions_(context.inputs[RoiAlignGrad::dy].shape[0]),
        maps_(context.op_as<RoiAlignGrad>().attrs().align, context.inputs[RoiAlignGrad::boxes].shape,
              context.op_as<RoiAlignGrad>().attrs().maps) {}

  std::size_t workspace_bytes() const override { return static_cast<std::size_t>(regions_) * sizeof(Extent); }

  void run(const KernelArgs& args) override {
    const auto* boxes = static_cast<const float*>(args.inputs[RoiAlignGrad::boxes]);
    auto* extents = static_cast<Extent*>(args.workspace);
    launch(extent_kernel, grid_blocks(device_, regions_), block_threads, device_, maps_, regions_, boxes, extents);
    for (std::size_t level = 0; level < gradients_.size(); ++level) {
      visit_row_pack(maps_.channels, gradients_[level].dtype, [&](auto n, auto zero) {
        using T = decltype(zero);
        const std::int64_t items = gradients_[level].count() / decltype(n)::value;
        launch(roi_align_grad_kernel<decltype(n)::value, T>, grid_blocks(device_, items), block_threads, device_, maps_,
               static_cast<int>(level), items, boxes, extents, static_cast<const T*>(args.inputs[RoiAlignGrad::dy]),
               static_cast<T*>(args.outputs[level]));
      });
    }
  }

 private:
  Device& device_;
  std::vector<TensorDesc> gradients_;
  std::int64_t regions_;
  RoiMaps maps_;
};

}  // namespace

std::unique_ptr<Kernel> make_roi_align(const KernelContext& context, Device& device) {
  std::vector<Shape> maps;
  for (std::size_t i = RoiAlign::maps; i < context.inputs.size(); ++i) maps.push_back(context.inputs[i].shape);
  return std::make_unique<RoiAlignKernel>(context, device, maps);
}
std::unique_ptr<Kernel> make_roi_align_grad(const KernelContext& context, Device& device) {
  return std::make_unique<RoiAlignGradKernel>(context, device);
}

}  // namespace ptrain::cuda
