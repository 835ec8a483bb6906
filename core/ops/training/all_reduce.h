// Sums over the ranks of a data-parallel run, and copies of what each rank has computed of a buffer, as two nodes: one
// starts the exchange when the data is ready, the other waits for it before the data is read.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Input: [data, floating (written in place by the time of the next all_reduce_wait)]. No outputs.
class ExchangeStart : public Op {
 public:
  enum Input { data };
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == data; }
};

/// data becomes factor * (its sum over all ranks); factor 1 / world_size gives the mean.
class AllReduceStart : public ExchangeStart {
 public:
  explicit AllReduceStart(float factor) : factor_(factor) {}
  float factor() const { return factor_; }
  std::string_view type() const override { return "all_reduce_start"; }
  std::string attributes() const override;

 private:
  float factor_;
};

/// An all-reduce whose sums each rank gets in its own slice of data alone (rank_slice); the rest means nothing then.
class ReduceScatterStart final : public AllReduceStart {
 public:
  using AllReduceStart::AllReduceStart;
  std::string_view type() const override { return "reduce_scatter_start"; }
};

/// Every rank's slice of data, of any dtype, is copied to all ranks.
class AllGatherStart final : public ExchangeStart {
 public:
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  std::string_view type() const override { return "all_gather_start"; }
};

/// Inputs: [data...], everything that was started (written in place). Later nodes see the results.
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
