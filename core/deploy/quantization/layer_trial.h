// Measures the error of one layer computed in 8 bits.
#pragma once

#include "core/runtime/deployed_model.h"

namespace ptrain {

/// A layer of an fp32 model whose last run left its inputs and result readable. Both must outlive it.
class LayerTrial {
 public:
  LayerTrial(Backend& backend, const DeployedModel& precise, const Node& layer);

  /// Squared error of the result in 8 bits, with the input in `format`, relative to the result's sum of squares; a
  /// residual and the result stay in fp32.
  double relative_error(const QuantizedFormat& format) const;

 private:
  std::span<float> values(ValueId id) const;

  Backend& backend_;
  const Graph& graph_;
  const Plan& plan_;
  const Node& layer_;
  std::vector<float> bias_;
  QuantizedWeights weights_;
};

}  // namespace ptrain
