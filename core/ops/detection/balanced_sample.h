// A random sample of boxes in which those with an object have a limited share.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

struct BalancedSampleAttributes {
  std::int32_t count = 256;           // of the sample
  std::int32_t most_positives = 128;  // of them
  std::uint32_t stream = 0;           // random stream, unique per node
};

/// inputs:  matches i32 [N,B]: an object, BoxMatch::background or BoxMatch::ignored; rng i64 [3] = {seed, step, part}.
/// outputs: sample i32 [N,count], indices of boxes: first those with an object, at most `most_positives`, then
/// background
///          up to `count`; -1 fills the rest. Each kind is drawn without replacement, in order of random numbers that
///          depend on (seed, step, stream, box) alone; all are taken where there are no more than wanted.
class BalancedSample final : public OpWith<BalancedSampleAttributes> {
 public:
  enum Input { matches, rng };
  using OpWith::OpWith;
  std::string_view type() const override { return "balanced_sample"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
};

}  // namespace ptrain
