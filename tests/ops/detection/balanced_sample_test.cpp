#include "core/ops/detection/balanced_sample.h"

#include "core/base/rng.h"
#include "core/ops/math/boxes.h"
#include "tests/ops/op_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ptrain::testing {
namespace balanced_sample_test {

using Values = std::vector<double>;

struct Rng {
  std::int64_t seed = 3, step = 7, part = 0;
};

HostTensor to_tensor(const Rng& rng) {
  return tensor(DType::i64, {3},
                {static_cast<double>(rng.seed), static_cast<double>(rng.step), static_cast<double>(rng.part)});
}

/// Boxes in the order of their random numbers; of each kind the first.
Values reference(const BalancedSampleAttributes& a, const HostTensor& matches, const Rng& rng) {
  const std::int64_t images = matches.desc.shape[0], boxes = matches.desc.shape[1];
  const RandomStream random{static_cast<std::uint64_t>(rng.seed), static_cast<std::uint64_t>(rng.step), a.stream};
  Values sample;
  for (std::int64_t image = 0; image < images; ++image) {
    std::set<std::pair<std::uint32_t, std::int64_t>> order;
    for (std::int64_t i = 0; i < boxes; ++i)
      order.emplace(random.bits(static_cast<std::uint64_t>((rng.part * images + image) * boxes + i)), i);
    Values taken;
    for (const auto& [number, i] : order) {
      const bool has_object = matches.values[static_cast<std::size_t>(image * boxes + i)] >= 0;
      if (has_object && taken.size() < static_cast<std::size_t>(a.most_positives))
        taken.push_back(static_cast<double>(i));
    }
    for (const auto& [number, i] : order) {
      const bool is_background = matches.values[static_cast<std::size_t>(image * boxes + i)] == BoxMatch::background;
      if (is_background && taken.size() < static_cast<std::size_t>(a.count)) taken.push_back(static_cast<double>(i));
    }
    taken.resize(static_cast<std::size_t>(a.count), -1);
    sample.insert(sample.end(), taken.begin(), taken.end());
  }
  return sample;
}

/// About `share` of the boxes have an object, a tenth is ignored.
HostTensor random_matches(std::int64_t images, std::int64_t boxes, double share) {
  HostTensor matches = random_tensor(DType::i32, Shape{images, boxes}, 5, 0, 1000);
  for (double& match : matches.values)
    match = match < 100 ? BoxMatch::ignored : match < 100 + 900 * share ? std::floor(match / 10) : BoxMatch::background;
  return matches;
}

TEST(BalancedSample, MatchesReference) {
  for (const double share : {0.0, 0.02, 0.5, 1.0}) {
    for (const BalancedSampleAttributes& a :
         {BalancedSampleAttributes{64, 32, 9}, {100, 25, 1}, {700, 700, 2}, {1, 0, 3}}) {
      for (const Rng& rng : {Rng{}, Rng{.part = 2}}) {
        check_op({.op = std::make_shared<BalancedSample>(a),
                  .inputs = {random_matches(3, 300, share), to_tensor(rng)},
                  .reference = [a, rng](const auto& in) { return std::vector<Values>{reference(a, in[0], rng)}; }});
      }
    }
  }
}

TEST(BalancedSample, DrawsAllAlikeAndOthersInEachStep) {
  const auto op = std::make_shared<BalancedSample>(BalancedSampleAttributes{16, 8, 0});
  constexpr std::int64_t steps = 4, images = 100, boxes = 64;
  std::vector<int> drawn(boxes);
  for (std::int64_t step = 0; step < steps; ++step) {
    std::vector<HostTensor> inputs{tensor(DType::i32, {images, boxes}, Values(images * boxes, BoxMatch::background)),
                                   to_tensor({.step = step})};
    const HostTensor sample = run_op(op, inputs)[0];
    for (const double i : sample.values) ++drawn.at(static_cast<std::size_t>(i));
  }
  // 100 of each are expected, with a deviation of 8.7.
  EXPECT_GT(std::ranges::min(drawn), 60);
  EXPECT_LT(std::ranges::max(drawn), 140);
}

}  // namespace balanced_sample_test
}  // namespace ptrain::testing
