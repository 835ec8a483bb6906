#include "core/ops/training/all_reduce.h"

#include "core/ops/require.h"

namespace ptrain {

std::string AllReduceStart::attributes() const { return fmt::format("factor={:g}", factor_); }

namespace {

std::vector<TensorDesc> infer_start(std::span<const TensorDesc> inputs) {
  require_count(inputs, 1, 1);
  require_floating(inputs[0], "data");
  return {};
}

}  // namespace

std::vector<TensorDesc> AllReduceStart::infer(std::span<const TensorDesc> inputs) const { return infer_start(inputs); }

std::vector<TensorDesc> AllGatherStart::infer(std::span<const TensorDesc> inputs) const { return infer_start(inputs); }

std::vector<TensorDesc> AllReduceWait::infer(std::span<const TensorDesc>) const { return {}; }

}  // namespace ptrain
