// A row of the resized mask is made where bins read it, and shared among the bins; rows are then shared likewise.
#include "core/ops/detection/mask_targets.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/detection/bin_pixels.h"
#include "core/ops/math/placed_mask.h"

#include <algorithm>
#include <vector>

namespace ptrain::cpu {
namespace {

class MaskTargetsKernel final : public Kernel {
 public:
  explicit MaskTargetsKernel(const KernelContext& context)
      : bins_(context.op_as<MaskTargets>().attrs().bins),
        boxes_(context.inputs[MaskTargets::boxes].shape),
        objects_(context.inputs[MaskTargets::ranges].shape[1]),
        runs_(context.inputs[MaskTargets::runs].shape[1]),
        placement_columns_(context.inputs[MaskTargets::placements].shape[1]) {}

  void run(const KernelArgs& args) override {
    const auto* matches = static_cast<const std::int32_t*>(args.inputs[MaskTargets::matches]);
    const auto* placements = static_cast<const float*>(args.inputs[MaskTargets::placements]);
    parallel_for(boxes_[0] * boxes_[1], 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      for (std::int64_t i = begin; i < end; ++i) {
        float* to = static_cast<float*>(args.outputs[0]) + i * bins_ * bins_;
        std::fill(to, to + bins_ * bins_, 0.0f);
        if (matches[i] < 0 || matches[i] >= objects_) continue;
        const std::int64_t image = i / boxes_[1];
        const auto* range =
            static_cast<const std::int32_t*>(args.inputs[MaskTargets::ranges]) + (image * objects_ + matches[i]) * 2;
        const auto* ends = static_cast<const std::int32_t*>(args.inputs[MaskTargets::runs]) + image * runs_ + range[0];
        const PlacedMask mask(placements + image * placement_columns_, ends, range[1]);
        align(read_corners(static_cast<const float*>(args.inputs[MaskTargets::boxes]) + i * boxes_[2]), mask, scratch,
              to);
      }
    });
  }

 private:
  struct Scratch {
    BinPixels rows, columns;
    std::vector<float> window;  // [columns, rows] of the resized mask that bins read
    std::vector<float> mixed;   // [bins, rows]
  };

  /// The pixels from the first to the last that bins read, of which there may be none.
  struct Window {
    std::int64_t begin = 0, end = 0;

    Window(const BinPixels& pixels, int bins) {
      for (int bin = 0; bin < bins; ++bin) {
        for (const BinPixels::Share& one : pixels[bin]) {
          begin = end == 0 ? one.pixel : std::min(begin, one.pixel);
          end = std::max(end, one.pixel + 1);
        }
      }
    }
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };

  void align(const CornerBox& box, const PlacedMask& mask, Scratch& s, float* to) const {
    s.rows.read({box.y0, box.y1, 1, bins_, 0, mask.placed_height}, bins_);
    s.columns.read({box.x0, box.x1, 1, bins_, 0, mask.placed_width}, bins_);
    const Window rows(s.rows, bins_), columns(s.columns, bins_);
    s.window.resize(rows.size() * columns.size());
    for (std::size_t x = 0; x < columns.size(); ++x) {
      const std::int32_t column =
          mask.source_column(static_cast<std::int32_t>(columns.begin) + static_cast<std::int32_t>(x));
      std::int32_t run = -1;
      for (std::size_t y = 0; y < rows.size(); ++y) {
        const std::int32_t row = mask.source_row(static_cast<std::int32_t>(rows.begin) + static_cast<std::int32_t>(y));
        if (run < 0) run = mask.find_run(row, column);
        while (run < mask.runs && mask.ends[run] <= column * mask.height + row) ++run;
        s.window[x * rows.size() + y] = run % 2 == 1 ? 1.0f : 0.0f;
      }
    }
    const auto bins = static_cast<std::size_t>(bins_);
    s.mixed.assign(bins * rows.size(), 0.0f);
    for (int bin = 0; bin < bins_; ++bin) {
      float* mixed = s.mixed.data() + static_cast<std::size_t>(bin) * rows.size();
      for (const BinPixels::Share& one : s.columns[bin]) {
        const float* from = s.window.data() + static_cast<std::size_t>(one.pixel - columns.begin) * rows.size();
        for (std::size_t y = 0; y < rows.size(); ++y) mixed[y] += from[y] * one.share;
      }
    }
    for (int row = 0; row < bins_; ++row) {
      for (int column = 0; column < bins_; ++column) {
        const float* mixed = s.mixed.data() + static_cast<std::size_t>(column) * rows.size();
        float sum = 0;
        for (const BinPixels::Share& one : s.rows[row]) sum += mixed[one.pixel - rows.begin] * one.share;
        to[row * bins_ + column] = sum;
      }
    }
  }

  std::int32_t bins_;
  Shape boxes_;
  std::int64_t objects_, runs_, placement_columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_mask_targets(const KernelContext& context) {
  return std::make_unique<MaskTargetsKernel>(context);
}

}  // namespace ptrain::cpu
