// Levels are searched in parallel, then images.
#include "core/ops/detection/detect_objects.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/detection/suppression.h"
#include "core/ops/math/binary_cross_entropy_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain::cpu {
namespace {

class DetectObjectsKernel final : public Kernel {
 public:
  explicit DetectObjectsKernel(const KernelContext& context)
      : attributes_(context.op_as<DetectObjects>().attrs()), logits_(context.inputs[DetectObjects::logits]) {
    const auto images = static_cast<std::size_t>(logits_.shape[0]);
    levels_.resize(images * static_cast<std::size_t>(attributes_.anchors.levels));
    kept_.resize(images);
  }

  void run(const KernelArgs& args) override {
    const std::int64_t images = logits_.shape[0], levels = attributes_.anchors.levels;
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto* logits = static_cast<const T*>(args.inputs[DetectObjects::logits]);
      const auto* deltas = static_cast<const T*>(args.inputs[DetectObjects::deltas]);
      const std::int64_t anchors = logits_.shape[1];
      parallel_for(images * levels, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          find_candidates(logits + i / levels * anchors * classes(), attributes_.anchors.level[i % levels],
                          levels_[static_cast<std::size_t>(i)]);
        }
      });
      parallel_for(images, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t image = begin; image < end; ++image) {
          write_objects(image, deltas + image * anchors * 4, find_placement(args, DetectObjects::placements, image),
                        static_cast<float*>(args.outputs[0]) + image * attributes_.per_image * DetectObjects::columns);
        }
      });
    });
  }

 private:
  std::int64_t classes() const { return logits_.shape[2]; }

  template <typename T>
  void find_candidates(const T* logits, const AnchorLevel& level, std::vector<Candidate>& best) const {
    best.clear();
    const std::int64_t end = (level.first + level.count()) * classes();
    const float threshold = attributes_.score > 0 ? std::log(attributes_.score / (1 - attributes_.score))
                                                  : -std::numeric_limits<float>::infinity();
    const float margin = attributes_.score > 0 ? 1e-3f * std::abs(threshold) + 1e-6f : 0;  // the score itself decides
    for (std::int64_t i = level.first * classes(); i < end; ++i) {
      const auto logit = static_cast<float>(logits[i]);
      if (logit >= threshold - margin && logistic(logit) > attributes_.score) best.push_back({logit, i});
    }
    const auto most = static_cast<std::size_t>(attributes_.per_level);
    if (best.size() <= most) return;
    std::nth_element(best.begin(), best.begin() + attributes_.per_level, best.end());
    best.resize(most);
  }

  template <typename T>
  void write_objects(std::int64_t image, const T* deltas, const float* placement, float* rows) {
    const auto levels = static_cast<std::size_t>(attributes_.anchors.levels);
    std::vector<Candidate>& all = levels_[static_cast<std::size_t>(image) * levels];
    for (std::size_t i = 1; i < levels; ++i) {
      const std::vector<Candidate>& more = levels_[static_cast<std::size_t>(image) * levels + i];
      all.insert(all.end(), more.begin(), more.end());
    }
    const SuppressionLimits limits{attributes_.overlap, attributes_.least_side, attributes_.per_image};
    suppress(all, limits, kept_[static_cast<std::size_t>(image)], rows, [&](const Candidate& one) {
      const std::int64_t anchor = one.position / classes(), label = one.position % classes();
      const CornerBox box =
          decode_box(attributes_.form, read_deltas(deltas + anchor * 4), attributes_.anchors.at(anchor));
      const bool by_class = attributes_.within == SuppressWithin::classes;
      return FoundObject{clip_to_image(box, attributes_.width, attributes_.height, placement), logistic(one.rank),
                         label, by_class ? label : attributes_.anchors.find_level(anchor)};
    });
  }

  DetectionAttributes attributes_;
  TensorDesc logits_;
  std::vector<std::vector<Candidate>> levels_;  // [image, level]
  std::vector<std::vector<FoundObject>> kept_;  // [image]
};

}  // namespace

std::unique_ptr<Kernel> make_detect_objects(const KernelContext& context) {
  return std::make_unique<DetectObjectsKernel>(context);
}

}  // namespace ptrain::cpu
