// Sums over the ranks of a data-parallel run, as two nodes: one starts the all-reduce when the data is ready, the other
// waits for it before the data is read.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Input: [data, floating (written in place by the time of the next all_reduce_wait)]. No outputs.
/// data becomes factor * (its sum over all ranks); factor 1 / world_size gives the mean.
class AllReduceStart final : public Op {
 public:
  enum Input { data };
  explicit AllReduceStart(float factor) : factor_(factor) {}
  float factor() const { return factor_; }

  std::string_view type() const override { return "all_reduce_start"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == data; }

 private:
  float factor_;
};

/// Inputs: [data...], everything that was started (written in place). Later nodes see the sums.
class AllReduceWait final : public Op {
 public:
  std::string_view type() const override { return "all_reduce_wait"; }
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int) const override { return true; }
  /// The traffic is counted where the exchange starts.
  Cost cost(std::span<const TensorDesc>, std::span<const TensorDesc>) const override { return {}; }
};

}  // namespace ptrain
