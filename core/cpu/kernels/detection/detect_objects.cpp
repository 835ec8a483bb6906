// Levels are searched in parallel, then images.
#include "core/ops/detection/detect_objects.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/ops/math/binary_cross_entropy_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptrain::cpu {
namespace {

struct Candidate {
  float logit;
  std::int64_t position;  // anchor * classes + class

  bool operator<(const Candidate& other) const {
    return logit != other.logit ? logit > other.logit : position < other.position;
  }
};

struct Found {
  CornerBox box;
  std::int64_t label;
};

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
          suppress(image, deltas + image * anchors * 4,
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
    const float threshold = std::log(attributes_.score / (1 - attributes_.score));
    const float margin = 1e-3f * std::abs(threshold) + 1e-6f;  // of rounding: the score itself decides
    for (std::int64_t i = level.first * classes(); i < end; ++i) {
      const auto logit = static_cast<float>(logits[i]);
      if (logit > threshold - margin && logistic(logit) > attributes_.score) best.push_back({logit, i});
    }
    const auto most = static_cast<std::size_t>(attributes_.per_level);
    if (best.size() <= most) return;
    std::nth_element(best.begin(), best.begin() + attributes_.per_level, best.end());
    best.resize(most);
  }

  template <typename T>
  void suppress(std::int64_t image, const T* deltas, float* rows) {
    const auto levels = static_cast<std::size_t>(attributes_.anchors.levels);
    std::vector<Candidate>& all = levels_[static_cast<std::size_t>(image) * levels];
    for (std::size_t i = 1; i < levels; ++i) {
      const std::vector<Candidate>& more = levels_[static_cast<std::size_t>(image) * levels + i];
      all.insert(all.end(), more.begin(), more.end());
    }
    std::sort(all.begin(), all.end());
    std::vector<Found>& kept = kept_[static_cast<std::size_t>(image)];
    kept.clear();
    for (const Candidate& one : all) {
      if (kept.size() == static_cast<std::size_t>(attributes_.per_image)) break;
      const std::int64_t anchor = one.position / classes(), label = one.position % classes();
      const T* d = deltas + anchor * 4;
      const BoxDeltas moved{static_cast<float>(d[0]), static_cast<float>(d[1]), static_cast<float>(d[2]),
                            static_cast<float>(d[3])};
      const CornerBox box =
          clip_box(decode_box(moved, attributes_.anchors.at(anchor)), attributes_.width, attributes_.height);
      const bool covered = std::ranges::any_of(kept, [&](const Found& other) {
        return other.label == label && intersection_over_union(other.box, box) > attributes_.overlap;
      });
      if (covered) continue;
      kept.push_back({box, label});
      const float row[]{box.x0, box.y0, box.x1, box.y1, logistic(one.logit), static_cast<float>(label)};
      rows = std::copy(std::begin(row), std::end(row), rows);
    }
    for (std::size_t i = kept.size(); i < static_cast<std::size_t>(attributes_.per_image); ++i) {
      const float none[]{0, 0, 0, 0, 0, -1};
      rows = std::copy(std::begin(none), std::end(none), rows);
    }
  }

  DetectionAttributes attributes_;
  TensorDesc logits_;
  std::vector<std::vector<Candidate>> levels_;  // [image, level]
  std::vector<std::vector<Found>> kept_;        // [image]
};

}  // namespace

std::unique_ptr<Kernel> make_detect_objects(const KernelContext& context) {
  return std::make_unique<DetectObjectsKernel>(context);
}

}  // namespace ptrain::cpu
