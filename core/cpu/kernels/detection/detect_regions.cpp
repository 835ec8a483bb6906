#include "core/ops/detection/detect_regions.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/detection/suppression.h"

#include <algorithm>
#include <cmath>

namespace ptrain::cpu {
namespace {

class DetectRegionsKernel final : public Kernel {
 public:
  explicit DetectRegionsKernel(const KernelContext& context)
      : attributes_(context.op_as<DetectRegions>().attrs()),
        logits_(context.inputs[DetectRegions::logits]),
        region_columns_(context.inputs[DetectRegions::regions].shape[2]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t images = logits_.shape[0], regions = logits_.shape[1], classes = logits_.shape[2];
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      parallel_for(images, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Candidate> candidates;
        std::vector<FoundObject> kept;
        for (std::int64_t image = begin; image < end; ++image) {
          const std::int64_t first = image * regions;
          const auto* boxes = static_cast<const float*>(args.inputs[DetectRegions::regions]) + first * region_columns_;
          const auto* logits = static_cast<const T*>(args.inputs[DetectRegions::logits]) + first * classes;
          const auto* deltas = static_cast<const T*>(args.inputs[DetectRegions::deltas]) + first * classes * 4;
          const float* placement = find_placement(args, DetectRegions::placements, image);
          find_candidates(boxes, logits, candidates);
          const SuppressionLimits limits{attributes_.overlap, attributes_.least_side, attributes_.per_image};
          auto* rows = static_cast<float*>(args.outputs[DetectRegions::detections]) +
                       image * attributes_.per_image * DetectObjects::columns;
          suppress(candidates, limits, kept, rows, [&](const Candidate& one) {
            const std::int64_t label = one.position % classes;
            const CornerBox region = read_corners(boxes + one.position / classes * region_columns_);
            const CornerBox box = decode_box(read_deltas(deltas + one.position * 4) / attributes_.weights, region);
            return FoundObject{clip_to_image(box, attributes_.width, attributes_.height, placement), one.rank,
                               label - 1, label};
          });
          auto* classes_of_rows =
              static_cast<std::int32_t*>(args.outputs[DetectRegions::logit_classes]) + image * attributes_.per_image;
          for (std::int32_t i = 0; i < attributes_.per_image; ++i) {
            classes_of_rows[i] = 1 + static_cast<std::int32_t>(rows[i * DetectObjects::columns + DetectObjects::label]);
          }
        }
      });
    });
  }

 private:
  template <typename T>
  void find_candidates(const float* boxes, const T* logits, std::vector<Candidate>& candidates) const {
    const std::int64_t classes = logits_.shape[2];
    std::vector<float> exponentials(static_cast<std::size_t>(classes));
    candidates.clear();
    for (std::int64_t region = 0; region < logits_.shape[1]; ++region, logits += classes) {
      const CornerBox box = read_corners(boxes + region * region_columns_);
      if (!(box.width() > 0) || !(box.height() > 0)) continue;
      float largest = static_cast<float>(logits[0]), sum = 0;
      for (std::int64_t k = 1; k < classes; ++k) largest = std::max(largest, static_cast<float>(logits[k]));
      for (std::int64_t k = 0; k < classes; ++k) {
        exponentials[static_cast<std::size_t>(k)] = std::exp(static_cast<float>(logits[k]) - largest);
        sum += exponentials[static_cast<std::size_t>(k)];
      }
      for (std::int64_t k = 1; k < classes; ++k) {
        const float score = exponentials[static_cast<std::size_t>(k)] / sum;
        if (score > attributes_.score) candidates.push_back({score, region * classes + k});
      }
    }
  }

  RegionDetectionAttributes attributes_;
  TensorDesc logits_;
  std::int64_t region_columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_detect_regions(const KernelContext& context) {
  return std::make_unique<DetectRegionsKernel>(context);
}

}  // namespace ptrain::cpu
