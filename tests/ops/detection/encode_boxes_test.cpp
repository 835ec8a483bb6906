#include "core/ops/detection/encode_boxes.h"

#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ptrain::testing {
namespace encode_boxes_test {

using Values = std::vector<double>;

Values reference(const BoxWeights& weights, const HostTensor& boxes, const HostTensor& objects) {
  const std::int64_t columns = boxes.desc.shape[2], others = objects.desc.shape[2];
  Values deltas;
  for (std::int64_t i = 0; i < boxes.desc.count() / columns; ++i) {
    const double *a = boxes.values.data() + i * columns, *b = objects.values.data() + i * others;
    const double aw = a[2] - a[0], ah = a[3] - a[1], bw = b[2] - b[0], bh = b[3] - b[1];
    if (aw <= 0 || ah <= 0 || bw <= 0 || bh <= 0) {
      deltas.insert(deltas.end(), {0, 0, 0, 0});
      continue;
    }
    deltas.push_back(weights.centre * ((b[0] + b[2]) - (a[0] + a[2])) / 2 / aw);
    deltas.push_back(weights.centre * ((b[1] + b[3]) - (a[1] + a[3])) / 2 / ah);
    deltas.push_back(weights.size * std::log(bw / aw));
    deltas.push_back(weights.size * std::log(bh / ah));
  }
  return deltas;
}

TEST(EncodeBoxes, MatchesReference) {
  for (const BoxWeights& weights : {BoxWeights{}, BoxWeights{10, 5}}) {
    const auto boxes = [](std::int64_t columns, std::uint64_t seed) {
      HostTensor all = random_tensor(DType::f32, Shape{2, 40, columns}, seed, 0, 30);
      for (std::size_t i = 0; i < all.values.size(); i += static_cast<std::size_t>(columns)) {
        for (std::size_t k = 2; k < 4; ++k)
          all.values[i + k] = round_to(DType::f32, all.values[i + k - 2] + all.values[i + k] - 2);
      }
      return all;
    };
    check_op({.op = std::make_shared<EncodeBoxes>(weights),
              .inputs = {boxes(6, 1), boxes(4, 2)},
              .reference = [weights](const auto& in) { return std::vector<Values>{reference(weights, in[0], in[1])}; },
              .tolerance_scale = 4});
  }
}

TEST(EncodeBoxes, IsUndoneByDecoding) {
  const CornerBox anchor{10, 20, 42, 36}, box{12, 18, 50, 60};
  const BoxWeights weights{10, 5};
  const CornerBox decoded = decode_box(encode_match(box, anchor, weights) / weights, anchor);
  EXPECT_NEAR(decoded.x0, box.x0, 1e-4);
  EXPECT_NEAR(decoded.y0, box.y0, 1e-4);
  EXPECT_NEAR(decoded.x1, box.x1, 1e-4);
  EXPECT_NEAR(decoded.y1, box.y1, 1e-4);
}

}  // namespace encode_boxes_test
}  // namespace ptrain::testing
