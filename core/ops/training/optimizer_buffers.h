// The flat buffers of an update, and a contiguous range of one parameter's elements in them, for both backends.
#pragma once

#include "core/ops/training/loss_scale_update.h"
#include "core/ops/training/optimizer_update.h"

namespace ptrain {

struct OptimizerBuffers {
  const float* grad_f32;
  const void* grad_low;
  float* master;
  void* low;
  float* moment1;
  float* moment2;
  float* moment3;
};

/// From the inputs of OptimizerUpdate.
inline OptimizerBuffers optimizer_buffers(std::span<void* const> inputs) {
  using Input = OptimizerUpdate::Input;
  return {static_cast<const float*>(inputs[Input::grad_f32]), inputs[Input::grad_low],
          static_cast<float*>(inputs[Input::master]),         inputs[Input::low],
          static_cast<float*>(inputs[Input::moment1]),        static_cast<float*>(inputs[Input::moment2]),
          static_cast<float*>(inputs[Input::moment3])};
}

/// Pointers to the first of `count` elements. Grad is float for a parameter trained in fp32.
template <typename Grad, typename Low>
struct ParameterRun {
  std::int64_t count;
  float* p;
  const Grad* g;
  Low* low;  // null without a low-precision copy
  float* m;  // null without a first moment
  float* v;
  float* w;  // the third
};

/// The elements [begin, end) of a parameter.
template <typename Grad, typename Low>
PTRAIN_HD inline ParameterRun<Grad, Low> parameter_run(const OptimizerBuffers& b, const ParameterSegment& s,
                                                       std::int64_t begin, std::int64_t end) {
  const bool low = s.low_offset >= 0;
  const std::int64_t at = s.master_offset + begin, moment = at + s.moment_shift;
  const void* grads = low ? b.grad_low : b.grad_f32;
  return {end - begin,
          b.master + at,
          static_cast<const Grad*>(grads) + s.grad_offset + begin,
          low ? static_cast<Low*>(b.low) + s.low_offset + begin : nullptr,
          b.moment1 == nullptr ? nullptr : b.moment1 + moment,
          b.moment2 == nullptr ? nullptr : b.moment2 + moment,
          b.moment3 == nullptr ? nullptr : b.moment3 + moment};
}

/// Computes an update's factors, and counts the update unless another op of the step does; false when some gradient
/// overflowed, so that the step is skipped. `norm` and `loss_scale` may be null.
PTRAIN_HD inline bool begin_step(const OptimizerSettings& settings, const float* learning_rate, const float* norm,
                                 const float* loss_scale, float* updates, UpdateCount counted, StepFactors& factors) {
  if (norm != nullptr && norm[1] != 0.0f) return false;
  const float number = *updates + 1.0f;
  if (counted == UpdateCount::here) *updates = number;
  factors = step_factors(settings, *learning_rate, loss_scale == nullptr ? 1.0f : loss_scale[LossScaleState::scale],
                         norm == nullptr ? 0.0f : norm[0], number);
  return true;
}

}  // namespace ptrain
