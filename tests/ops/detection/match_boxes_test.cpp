#include "core/ops/detection/match_boxes.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ptrain::testing {
namespace match_boxes_test {

using Values = std::vector<double>;

double overlap(const double* a, const double* b) {
  const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const auto area = [](const double* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  return width * height / (area(a) + area(b) - width * height);
}

Values reference(const MatchBoxesAttributes& a, const HostTensor& boxes, const HostTensor& objects) {
  const Shape &shape = boxes.desc.shape, &other = objects.desc.shape;
  Values matches;
  for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    const double* box = boxes.values.data() + i * shape[2];
    double best = 0, found = -1;
    for (std::int64_t k = 0; k < other[1]; ++k) {
      const double value = overlap(box, objects.values.data() + (i / shape[1] * other[1] + k) * other[2]);
      if (value > best) found = static_cast<double>(k);
      best = std::max(best, value);
    }
    const bool has_area = box[2] > box[0] && box[3] > box[1];
    matches.push_back(!has_area                                ? -2
                      : best > 0 && best >= double{a.positive} ? found
                      : best < double{a.background}            ? -1
                                                               : -2);
  }
  return matches;
}

/// Boxes with sides of up to 9 px, some of them without area.
HostTensor random_boxes(std::int64_t images, std::int64_t count, std::int64_t columns, std::uint64_t seed) {
  HostTensor boxes = random_tensor(DType::f32, Shape{images, count, columns}, seed, 0, 8);
  for (std::size_t i = 0; i < boxes.values.size(); i += static_cast<std::size_t>(columns)) {
    for (std::size_t k = 2; k < 4; ++k)
      boxes.values[i + k] = round_to(DType::f32, boxes.values[i + k - 2] + boxes.values[i + k] - 1);
  }
  return boxes;
}

TEST(MatchBoxes, MatchesReference) {
  constexpr std::int64_t images = 2, count = 90, objects = 7;
  const HostTensor truth = random_boxes(images, objects, 4, 2);
  HostTensor boxes = random_boxes(images, count, 6, 1);
  for (std::size_t i = 0; i < images * count; i += 5) {  // near an object of the image
    const std::size_t object = i / count * objects + i % objects;
    for (std::size_t k = 0; k < 4; ++k)
      boxes.values[6 * i + k] = round_to(DType::f32, truth.values[4 * object + k] + 0.125);
  }
  for (const MatchBoxesAttributes& a : {MatchBoxesAttributes{0.5f, 0.5f}, {0.7f, 0.3f}, {0.2f, 0.1f}}) {
    OpCase c{.op = std::make_shared<MatchBoxes>(a), .inputs = {boxes, truth}, .reference = [a](const auto& in) {
               return std::vector<Values>{reference(a, in[0], in[1])};
             }};
    check_op(c);
    EXPECT_GT(std::ranges::count_if(c.reference(c.inputs)[0], [](double match) { return match >= 0; }), 5);
  }
}

TEST(MatchBoxes, TakesTheFirstOfEqualObjectsAndNoneWithoutArea) {
  std::vector<HostTensor> inputs{tensor(DType::f32, {1, 3, 4}, {0, 0, 8, 8, 20, 20, 28, 28, 5, 5, 5, 9}),
                                 tensor(DType::f32, {1, 3, 4}, {0, 0, 0, 0, 0, 0, 8, 8, 0, 0, 8, 8})};
  const auto matches = run_op(std::make_shared<MatchBoxes>(MatchBoxesAttributes{}), inputs)[0];
  EXPECT_EQ(matches.values, (Values{1, BoxMatch::background, BoxMatch::ignored}));
}

}  // namespace match_boxes_test
}  // namespace ptrain::testing
