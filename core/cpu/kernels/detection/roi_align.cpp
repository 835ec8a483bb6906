// RoIAlign and its gradient. In the gradient a thread has channels of its own, for which it adds region after region.
#include "core/ops/detection/roi_align.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/detection/bin_pixels.h"
#include "core/cpu/simd/convert.h"
#include "core/cpu/simd/vector.h"

#include <algorithm>
#include <vector>

namespace ptrain::cpu {
namespace {

/// A region on its map.
struct Region {
  int level = 0;
  BinPixels rows, columns;

  void place(const RoiAlignAttributes& align, const float* box, const std::vector<Shape>& maps) {
    const CornerBox corners = read_corners(box);
    level = align.levels.choose(corners);
    const Shape& map = maps[static_cast<std::size_t>(level)];
    const float scale = align.levels.scale(level);
    rows.read({corners.y0, corners.y1, scale, align.bins, align.samples, map[1]}, align.bins);
    columns.read({corners.x0, corners.x1, scale, align.bins, align.samples, map[2]}, align.bins);
  }
};

class RoiAlignKernel final : public Kernel {
 public:
  explicit RoiAlignKernel(const KernelContext& context)
      : align_(context.op_as<RoiAlign>().attrs()),
        boxes_(context.inputs[RoiAlign::boxes].shape),
        regions_(context.outputs[0]) {
    for (std::size_t i = RoiAlign::maps; i < context.inputs.size(); ++i) maps_.push_back(context.inputs[i].shape);
  }

  void run(const KernelArgs& args) override {
    visit_floating(regions_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(regions_.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
        Region region;
        for (std::int64_t i = begin; i < end; ++i) {
          region.place(align_, static_cast<const float*>(args.inputs[RoiAlign::boxes]) + i * boxes_[2], maps_);
          const auto level = static_cast<std::size_t>(region.level);
          const Shape& map = maps_[level];
          const auto* from =
              static_cast<const T*>(args.inputs[RoiAlign::maps + level]) + i / boxes_[1] * (map.count() / map[0]);
          write(region, from, map, static_cast<T*>(args.outputs[0]) + i * (regions_.count() / regions_.shape[0]));
        }
      });
    });
  }

 private:
  template <typename T>
  void write(const Region& region, const T* map, const Shape& shape, T* to) const {
    const std::int64_t channels = shape[3];
    for (int row = 0; row < align_.bins; ++row) {
      for (int column = 0; column < align_.bins; ++column, to += channels) {
        for_channels(channels, [&](std::int64_t c, auto access) {
          f32x16 sum{};
          for (const auto& y : region.rows[row]) {
            const T* line = map + y.pixel * shape[2] * channels + c;
            for (const auto& x : region.columns[column])
              sum += access.load(line + x.pixel * channels) * (y.share * x.share);
          }
          access.store(to + c, sum);
        });
      }
    }
  }

  RoiAlignAttributes align_;
  Shape boxes_;
  TensorDesc regions_;
  std::vector<Shape> maps_;
};

class RoiAlignGradKernel final : public Kernel {
 public:
  explicit RoiAlignGradKernel(const KernelContext& context)
      : align_(context.op_as<RoiAlignGrad>().attrs().align),
        boxes_(context.inputs[RoiAlignGrad::boxes].shape),
        regions_(context.inputs[RoiAlignGrad::dy]),
        maps_(context.op_as<RoiAlignGrad>().attrs().maps) {}

  /// Sums of 16-bit gradients are kept in fp32.
  std::size_t workspace_bytes() const override {
    if (regions_.dtype == DType::f32) return 0;
    std::int64_t elements = 0;
    for (const Shape& map : maps_) elements += map.count();
    return static_cast<std::size_t>(elements) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    std::vector<float*> sums;
    auto* next = static_cast<float*>(args.workspace);
    for (std::size_t level = 0; level < maps_.size(); ++level) {
      sums.push_back(regions_.dtype == DType::f32 ? static_cast<float*>(args.outputs[level]) : next);
      if (regions_.dtype != DType::f32) next += maps_[level].count();
      parallel_for(maps_[level].count(), 1 << 14, [&](std::int64_t begin, std::int64_t end) {
        std::fill(sums[level] + begin, sums[level] + end, 0.0f);
      });
    }
    visit_floating(regions_.dtype, [&](auto zero) {
      add_all(args, static_cast<const decltype(zero)*>(args.inputs[RoiAlignGrad::dy]), sums);
    });
    for (std::size_t level = 0; level < maps_.size() && regions_.dtype != DType::f32; ++level)
      convert(DType::f32, sums[level], regions_.dtype, args.outputs[level], maps_[level].count());
  }

 private:
  template <typename T>
  void add_all(const KernelArgs& args, const T* dy, const std::vector<float*>& sums) const {
    const std::int64_t channels = regions_.shape[3], images = boxes_[0];
    const std::int64_t threads = std::max<std::int64_t>(1, thread_count() / images),
                       groups = (channels + lanes - 1) / lanes;
    const std::int64_t parts = std::min(threads, groups);  // of the channels
    parallel_for(images * parts, 1, [&](std::int64_t first, std::int64_t last) {
      Region region;
      for (std::int64_t task = first; task < last; ++task) {
        const std::int64_t image = task / parts, part = task % parts;
        const std::int64_t begin = groups * part / parts * lanes;
        const std::int64_t end = std::min(channels, groups * (part + 1) / parts * lanes);
        for (std::int64_t i = image * boxes_[1]; i < (image + 1) * boxes_[1]; ++i) {
          region.place(align_, static_cast<const float*>(args.inputs[RoiAlignGrad::boxes]) + i * boxes_[2], maps_);
          const auto level = static_cast<std::size_t>(region.level);
          const Shape& map = maps_[level];
          add(region, dy + i * (regions_.count() / regions_.shape[0]) + begin, map,
              sums[level] + image * (map.count() / map[0]) + begin, end - begin);
        }
      }
    });
  }

  /// Adds the gradients of `count` channels.
  template <typename T>
  void add(const Region& region, const T* dy, const Shape& shape, float* map, std::int64_t count) const {
    const std::int64_t channels = shape[3];
    for (int row = 0; row < align_.bins; ++row) {
      for (int column = 0; column < align_.bins; ++column, dy += channels) {
        for_channels(count, [&](std::int64_t c, auto access) {
          const f32x16 gradient = access.load(dy + c);
          for (const auto& y : region.rows[row]) {
            float* line = map + y.pixel * shape[2] * channels + c;
            for (const auto& x : region.columns[column]) {
              float* pixel = line + x.pixel * channels;
              access.store(pixel, access.load(pixel) + gradient * (y.share * x.share));
            }
          }
        });
      }
    }
  }

  RoiAlignAttributes align_;
  Shape boxes_;
  TensorDesc regions_;
  std::vector<Shape> maps_;
};

}  // namespace

std::unique_ptr<Kernel> make_roi_align(const KernelContext& context) {
  return std::make_unique<RoiAlignKernel>(context);
}
std::unique_ptr<Kernel> make_roi_align_grad(const KernelContext& context) {
  return std::make_unique<RoiAlignGradKernel>(context);
}

}  // namespace ptrain::cpu
