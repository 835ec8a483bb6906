#include "core/ops/training/all_reduce.h"

#include "core/ops/require.h"

namespace ptrain {

std::string AllReduceStart::attributes() const { return fmt::format("factor={:g}", factor_); }

std::vector<TensorDesc> ExchangeStart::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  require_floating(inputs[data], "data");
  return {};
}

std::vector<TensorDesc> AllGatherStart::infer(std::span<const TensorDesc> inputs) const {
  require_count(inputs, 1, 1);
  return {};
}

std::vector<TensorDesc> AllReduceWait::infer(std::span<const TensorDesc>) const { return {}; }

}  // namespace ptrain
