#include "core/ops/detection/balanced_sample.h"

#include "core/ops/require.h"

namespace ptrain {

std::string BalancedSample::attributes() const {
  return fmt::format("count={} most_positives={} stream={}", attrs().count, attrs().most_positives, attrs().stream);
}

std::vector<TensorDesc> BalancedSample::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 2, 2);
  const TensorDesc& desc = inputs[matches];
  require(desc.dtype == DType::i32 && desc.shape.rank() == 2, "matches: expected i32 [N,B], got {}", desc.to_string());
  require_rng(inputs[rng]);
  require(attrs().count >= 1 && attrs().most_positives >= 0 && attrs().most_positives <= attrs().count, "bad: {}",
          attributes());
  return {{DType::i32, Shape{desc.shape[0], attrs().count}}};
}

}  // namespace ptrain
