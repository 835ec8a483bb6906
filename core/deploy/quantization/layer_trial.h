// One layer computed in 8 bits by itself: what that changes of its result.
#pragma once

#include "core/runtime/deployed_model.h"

namespace ptrain {

/// A layer of a model in fp32 whose inputs and result its last run left readable. Both outlive it.
class LayerTrial {
 public:
  LayerTrial(Backend& backend, const DeployedModel& precise, const Node& layer);

  /// Sum of squares of what computing in 8 bits changes of the result, its input in `format`, over that of the result;
  /// a residual and the result stay in fp32.
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
