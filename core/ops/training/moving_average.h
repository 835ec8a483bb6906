// Exponential moving average (EMA) of a tensor: of parameters, to smooth evaluations.
#pragma once

#include "core/graph/op.h"

namespace ptrain {

/// Inputs: [average f32[N] (written in place), x f32[N], updates f32[1]]. No outputs. average becomes
/// d * average + (1 - d) * x. After n updates of x, this one included, d is the smaller of decay and (1 + n) / (10 + n)
/// (TensorFlow's tf.train.ExponentialMovingAverage), so that a short run's average leaves its start.
class MovingAverage final : public Op {
 public:
  enum Input { average, x, updates };
  explicit MovingAverage(float decay) : decay_(decay) {}
  float decay() const { return decay_; }

  std::string_view type() const override { return "moving_average"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == average; }

 private:
  float decay_;
};

}  // namespace ptrain
