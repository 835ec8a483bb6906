#include "core/ops/detection/assign_boxes.h"

#include "core/ops/detection/anchors.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ptrain::testing {
namespace assign_boxes_test {

using Values = std::vector<double>;
using Corners = std::array<double, 4>;

double overlap(const Corners& a, const Corners& b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const Corners& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  return width * height / (area(a) + area(b) - width * height);
}

AnchorGrid grid() {
  constexpr std::array<std::int32_t, 3> strides{32, 16, 8};
  return make_cells(strides, 64, 96);
}

/// Task-aligned assignment as it is described, in double: tables of all objects and anchors of an image.
struct Assignment {
  const AssignBoxesAttributes& attributes;
  std::size_t anchors, classes;
  const double *logits, *distances;
  std::vector<Corners> objects;
  std::vector<std::size_t> object_classes;

  Corners centre(std::size_t anchor) const {  // x, y and the extents of the cell
    const CornerBox cell = attributes.anchors.at(static_cast<std::int64_t>(anchor));
    const double width = double{cell.x1} - double{cell.x0}, height = double{cell.y1} - double{cell.y0};
    return {double{cell.x0} + width / 2, double{cell.y0} + height / 2, width, height};
  }
  Corners predicted(std::size_t anchor) const {
    const auto [x, y, width, height] = centre(anchor);
    const double* d = distances + 4 * anchor;
    return {x - d[0] * width, y - d[1] * height, x + d[2] * width, y + d[3] * height};
  }
  bool is_inside(std::size_t object, std::size_t anchor) const {
    const auto [x, y, width, height] = centre(anchor);
    const Corners& box = objects[object];
    return x > box[0] && x < box[2] && y > box[1] && y < box[3];
  }
  double iou(std::size_t object, std::size_t anchor) const { return overlap(objects[object], predicted(anchor)); }
  double alignment(std::size_t object, std::size_t anchor) const {
    const double logit = logits[anchor * classes + object_classes[object]];
    return std::pow(iou(object, anchor), 6) / (1 + std::exp(-logit));
  }

  std::vector<bool> candidates(std::size_t object) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < anchors; ++i) {
      if (is_inside(object, i) && alignment(object, i) > 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return alignment(object, i); });
    order.resize(std::min(order.size(), static_cast<std::size_t>(attributes.per_object)));
    std::vector<bool> chosen(anchors);
    for (const std::size_t i : order) chosen[i] = true;
    return chosen;
  }

  void append(std::vector<Values>& outputs) const {
    std::vector<std::vector<bool>> chosen;
    for (std::size_t object = 0; object < objects.size(); ++object) chosen.push_back(candidates(object));
    std::vector<int> owner(anchors, -1);
    for (std::size_t i = 0; i < anchors; ++i) {
      std::size_t count = 0, nearest = 0;
      for (std::size_t object = 0; object < objects.size(); ++object) {
        if (iou(object, i) > iou(nearest, i)) nearest = object;
        if (!chosen[object][i]) continue;
        ++count;
        owner[i] = static_cast<int>(object);
      }
      if (count > 1) owner[i] = static_cast<int>(nearest);
    }
    for (std::size_t i = 0; i < anchors; ++i) {
      double best_alignment = 0, best_overlap = 0;
      for (std::size_t k = 0; owner[i] >= 0 && k < anchors; ++k) {
        if (owner[k] != owner[i]) continue;
        best_alignment = std::max(best_alignment, alignment(static_cast<std::size_t>(owner[i]), k));
        best_overlap = std::max(best_overlap, iou(static_cast<std::size_t>(owner[i]), k));
      }
      const bool has_object = owner[i] >= 0;
      const auto object = static_cast<std::size_t>(owner[i]);
      outputs[0].push_back(has_object ? static_cast<double>(object_classes[object]) : -1);
      outputs[1].push_back(has_object ? alignment(object, i) / (best_alignment + 1e-9) * best_overlap : 0);
      const auto [x, y, width, height] = centre(i);
      const Corners box = has_object ? objects[object] : Corners{x, y, x, y};
      outputs[2].insert(outputs[2].end(),
                        {(x - box[0]) / width, (y - box[1]) / height, (box[2] - x) / width, (box[3] - y) / height});
    }
  }
};

std::vector<Values> reference(const AssignBoxesAttributes& attributes, const std::vector<HostTensor>& in) {
  const Shape& shape = in[0].desc.shape;
  const auto anchors = static_cast<std::size_t>(shape[1]), classes = static_cast<std::size_t>(shape[2]),
             objects = static_cast<std::size_t>(in[2].desc.shape[1]);
  std::vector<Values> outputs(3);
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
    Assignment image{attributes,
                     anchors,
                     classes,
                     in[0].values.data() + n * anchors * classes,
                     in[1].values.data() + n * anchors * 4,
                     {},
                     {}};
    for (std::size_t k = 0; k < objects; ++k) {
      const double* row = in[2].values.data() + (n * objects + k) * 6;
      if (!(row[2] > row[0]) || !(row[3] > row[1])) continue;
      image.objects.push_back({row[0], row[1], row[2], row[3]});
      image.object_classes.push_back(static_cast<std::size_t>(row[5]));
    }
    image.append(outputs);
  }
  return outputs;
}

/// Objects of up to 60 px, some of which overlap; one of each image has no area.
HostTensor random_objects(std::int64_t images, std::int64_t count, std::int64_t classes, std::uint64_t seed) {
  HostTensor objects = random_tensor(DType::f32, Shape{images, count, 6}, seed, 0, 1);
  for (std::size_t i = 0; i < objects.values.size(); i += 6) {
    double* row = objects.values.data() + i;
    row[0] = std::floor(row[0] * 60), row[1] = std::floor(row[1] * 30);
    row[2] = row[0] + std::floor(4 + row[2] * 56), row[3] = row[1] + std::floor(4 + row[3] * 40);
    row[4] = 1, row[5] = std::floor(row[5] * static_cast<double>(classes));
    if (i / 6 % static_cast<std::size_t>(count) == 2) row[2] = row[0];
  }
  return objects;
}

OpCase make_case(DType dtype, std::int64_t images, std::int64_t objects, std::int64_t classes,
                 std::int32_t per_object = 13) {
  AssignBoxesAttributes attributes{grid(), per_object};
  const std::int64_t anchors = attributes.anchors.count();
  return {.op = std::make_shared<AssignBoxes>(attributes),
          .inputs = {random_tensor(dtype, Shape{images, anchors, classes}, 1, -4, 4),
                     random_tensor(DType::f32, Shape{images, anchors, 4}, 2, 0.2, 3),
                     random_objects(images, objects, classes, 3)},
          .reference = [attributes](const auto& in) { return reference(attributes, in); }};
}

TEST(AssignBoxes, MatchesReferenceInEveryDtype) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check_op(make_case(dtype, 3, 7, 4));
    check_op(make_case(dtype, 1, 1, 1));
  }
}

TEST(AssignBoxes, LimitsTheAnchorsOfAnObject) {
  const OpCase c = make_case(DType::f32, 2, 9, 2, 3);
  check_op(c);
  const Values labels = c.reference(c.inputs)[0];
  EXPECT_GT(std::ranges::count_if(labels, [](double label) { return label >= 0; }), 10);
}

TEST(AssignBoxes, GivesContestedAnchorsToTheObjectOfTheLargestOverlap) {
  OpCase c = make_case(DType::f32, 1, 2, 3);
  constexpr double first[]{8, 8, 40, 40, 1, 0}, second[]{0, 0, 64, 64, 1, 2};
  std::ranges::copy(first, c.inputs[2].values.begin());
  std::ranges::copy(second, c.inputs[2].values.begin() + 6);
  check_op(c);
  const Values labels = c.reference(c.inputs)[0];
  EXPECT_GT(std::ranges::count(labels, 0.0), 0);
  EXPECT_GT(std::ranges::count(labels, 2.0), 0);
}

TEST(AssignBoxes, TheFirstOfEqualAnchorsAndObjectsIsTaken) {
  OpCase c = make_case(DType::f32, 1, 2, 1, 4);
  std::ranges::fill(c.inputs[0].values, 0);
  std::ranges::fill(c.inputs[1].values, 0.5);  // boxes are the cells
  constexpr double object[]{0, 0, 64, 64, 1, 0};
  for (const int row : {0, 6}) std::ranges::copy(object, c.inputs[2].values.begin() + row);
  check_op(c);
  const Values labels = c.reference(c.inputs)[0];
  EXPECT_EQ(Values(labels.begin(), labels.begin() + 6), (Values{0, 0, -1, 0, 0, -1})) << "those of 32 px";
}

TEST(AssignBoxes, NothingIsLearntWithoutObjects) {
  OpCase c = make_case(DType::f32, 1, 2, 3);
  std::ranges::fill(c.inputs[2].values, 0);
  c.inputs[2].values[2] = c.inputs[2].values[3] = 30;  // one of a class that does not exist
  c.inputs[2].values[5] = 3;
  const auto outputs = run_op(c.op, c.inputs);
  EXPECT_EQ(std::ranges::count(outputs[0].values, -1.0), c.inputs[0].desc.shape[1]);
  for (const int output : {AssignBoxes::scores, AssignBoxes::targets}) {
    for (const double value : outputs[static_cast<std::size_t>(output)].values) EXPECT_EQ(value, 0);
  }
}

}  // namespace assign_boxes_test
}  // namespace ptrain::testing
