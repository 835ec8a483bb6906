// Images are assigned in parallel.
#include "core/ops/detection/assign_boxes.h"

#include "core/base/parallel.h"
#include "core/cpu/cpu_kernels.h"
#include "core/cpu/kernels/detection/suppression.h"
#include "core/ops/math/binary_cross_entropy_math.h"

#include <algorithm>
#include <vector>

namespace ptrain::cpu {
namespace {

struct LabelledBox {
  CornerBox box;
  std::int64_t label;
};

class AssignBoxesKernel final : public Kernel {
 public:
  explicit AssignBoxesKernel(const KernelContext& context)
      : attributes_(context.op_as<AssignBoxes>().attrs()),
        logits_(context.inputs[AssignBoxes::logits]),
        objects_(context.inputs[AssignBoxes::objects].shape[1]),
        images_(static_cast<std::size_t>(logits_.shape[0])) {}

  void run(const KernelArgs& args) override {
    const auto* distances = static_cast<const float*>(args.inputs[AssignBoxes::distances]);
    const auto* objects = static_cast<const float*>(args.inputs[AssignBoxes::objects]);
    visit_floating(logits_.dtype, [&](auto zero) {
      const auto* logits = static_cast<const decltype(zero)*>(args.inputs[AssignBoxes::logits]);
      parallel_for(logits_.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t image = begin; image < end; ++image) {
          Image& own = images_[static_cast<std::size_t>(image)];
          own.objects = read_objects(objects + image * objects_ * DetectObjects::columns);
          own.boxes = decode(distances + image * anchors() * 4);
          const auto* of_image = logits + image * anchors() * classes();
          const auto align = [&](std::int64_t anchor, const LabelledBox& object, float overlap) {
            return measure_alignment(logistic(static_cast<float>(of_image[anchor * classes() + object.label])),
                                     overlap);
          };
          choose(own, align);
          write(own, image, align, args);
        }
      });
    });
  }

 private:
  struct Image {
    std::vector<LabelledBox> objects;
    std::vector<CornerBox> boxes;      // predicted, [anchors]
    std::vector<std::int64_t> chosen;  // objects, [anchors]; -1: none
  };

  std::int64_t anchors() const { return logits_.shape[1]; }
  std::int64_t classes() const { return logits_.shape[2]; }

  std::vector<LabelledBox> read_objects(const float* rows) const {
    std::vector<LabelledBox> objects;
    for (std::int64_t i = 0; i < objects_; ++i, rows += DetectObjects::columns) {
      const LabelledBox one{read_corners(rows), static_cast<std::int64_t>(rows[DetectObjects::label])};
      const bool is_one = one.box.width() > 0 && one.box.height() > 0 && one.label >= 0 && one.label < classes();
      if (is_one) objects.push_back(one);
    }
    return objects;
  }

  std::vector<CornerBox> decode(const float* distances) const {
    std::vector<CornerBox> boxes;
    for (std::int64_t i = 0; i < anchors(); ++i, distances += 4) {
      boxes.push_back(
          decode_distances({distances[0], distances[1], distances[2], distances[3]}, attributes_.anchors.at(i)));
    }
    return boxes;
  }

  template <typename Align>
  void choose(Image& image, const Align& align) const {
    image.chosen.assign(image.boxes.size(), -1);
    std::vector<bool> is_contested(image.boxes.size());
    for (std::size_t i = 0; i < image.objects.size(); ++i) {
      for (const Candidate& one : find_candidates(image, image.objects[i], align)) {
        const auto anchor = static_cast<std::size_t>(one.position);
        is_contested[anchor] = image.chosen[anchor] >= 0;
        image.chosen[anchor] = static_cast<std::int64_t>(i);
      }
    }
    for (std::size_t anchor = 0; anchor < image.boxes.size(); ++anchor) {
      if (is_contested[anchor]) image.chosen[anchor] = find_nearest(image, image.boxes[anchor]);
    }
  }

  /// The anchors that may learn an object.
  template <typename Align>
  std::vector<Candidate> find_candidates(const Image& image, const LabelledBox& object, const Align& align) const {
    std::vector<Candidate> all;
    for (std::int64_t i = 0; i < anchors(); ++i) {
      if (!has_centre(object.box, attributes_.anchors.at(i))) continue;
      const float overlap = intersection_over_union(object.box, image.boxes[static_cast<std::size_t>(i)]);
      const float alignment = align(i, object, overlap);
      if (alignment > 0) all.push_back({alignment, i});
    }
    const auto most = static_cast<std::size_t>(attributes_.per_object);
    if (all.size() <= most) return all;
    std::nth_element(all.begin(), all.begin() + attributes_.per_object, all.end());
    all.resize(most);
    return all;
  }

  /// The object with which a box's IoU is largest.
  static std::int64_t find_nearest(const Image& image, const CornerBox& box) {
    const auto nearest = std::ranges::max_element(
        image.objects, {}, [&](const LabelledBox& object) { return intersection_over_union(object.box, box); });
    return nearest - image.objects.begin();
  }

  struct Best {
    float alignment = 0, overlap = 0;
  };

  template <typename Align>
  void write(const Image& image, std::int64_t row, const Align& align, const KernelArgs& args) const {
    auto* labels = static_cast<std::int32_t*>(args.outputs[AssignBoxes::labels]) + row * anchors();
    auto* scores = static_cast<float*>(args.outputs[AssignBoxes::scores]) + row * anchors();
    auto* targets = static_cast<float*>(args.outputs[AssignBoxes::targets]) + row * anchors() * 4;
    std::fill_n(labels, anchors(), -1);
    std::fill_n(scores, anchors(), 0.0f);
    std::fill_n(targets, 4 * anchors(), 0.0f);
    std::vector<Best> best(image.objects.size());
    for (std::int64_t i = 0; i < anchors(); ++i) {
      const std::int64_t chosen = image.chosen[static_cast<std::size_t>(i)];
      if (chosen < 0) continue;
      const LabelledBox& object = image.objects[static_cast<std::size_t>(chosen)];
      const float overlap = intersection_over_union(object.box, image.boxes[static_cast<std::size_t>(i)]);
      scores[i] = align(i, object, overlap);
      labels[i] = static_cast<std::int32_t>(object.label);
      const SideDistances wanted = encode_distances(object.box, attributes_.anchors.at(i));
      const float sides[]{wanted.left, wanted.top, wanted.right, wanted.bottom};
      std::ranges::copy(sides, targets + 4 * i);
      Best& own = best[static_cast<std::size_t>(chosen)];
      own = {std::max(own.alignment, scores[i]), std::max(own.overlap, overlap)};
    }
    for (std::int64_t i = 0; i < anchors(); ++i) {
      const std::int64_t chosen = image.chosen[static_cast<std::size_t>(i)];
      if (chosen < 0) continue;
      const Best& own = best[static_cast<std::size_t>(chosen)];
      scores[i] = score_alignment(scores[i], own.alignment, own.overlap);
    }
  }

  AssignBoxesAttributes attributes_;
  TensorDesc logits_;
  std::int64_t objects_;
  std::vector<Image> images_;
};

}  // namespace

std::unique_ptr<Kernel> make_assign_boxes(const KernelContext& context) {
  return std::make_unique<AssignBoxesKernel>(context);
}

}  // namespace ptrain::cpu
