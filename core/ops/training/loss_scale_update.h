// Dynamic loss scaling (Paddle's GradScaler): the scale grows after a run of finite steps and shrinks on overflow.
#pragma once

#include "core/base/host_device.h"
#include "core/graph/op.h"

namespace ptrain {

/// Indices of the scaler's state in its f32[4] tensor.
struct LossScaleState {
  enum : int { scale = 0, good_steps = 1, bad_steps = 2, skipped_steps = 3, size = 4 };
};

struct LossScaleAttributes {
  bool dynamic = true;
  float incr_ratio = 2.0f;
  float decr_ratio = 0.5f;
  int incr_every_n_steps = 2000;
  int decr_every_n_nan_or_inf = 1;
};

/// One step of the scaler. `found_inf`: some gradient of this step was not finite (the update was skipped).
PTRAIN_HD inline void update_loss_scale(float* state, bool found_inf, const LossScaleAttributes& a) {
  if (found_inf) state[LossScaleState::skipped_steps] += 1.0f;
  if (!a.dynamic) return;
  if (found_inf) {
    state[LossScaleState::good_steps] = 0.0f;
    state[LossScaleState::bad_steps] += 1.0f;
    if (state[LossScaleState::bad_steps] >= static_cast<float>(a.decr_every_n_nan_or_inf)) {
      const float lower = state[LossScaleState::scale] * a.decr_ratio;
      state[LossScaleState::scale] = lower < 1.0f ? 1.0f : lower;
      state[LossScaleState::bad_steps] = 0.0f;
    }
    return;
  }
  state[LossScaleState::bad_steps] = 0.0f;
  state[LossScaleState::good_steps] += 1.0f;
  if (state[LossScaleState::good_steps] >= static_cast<float>(a.incr_every_n_steps)) {
    const float higher = state[LossScaleState::scale] * a.incr_ratio;
    if (higher <= 3.0e38f) state[LossScaleState::scale] = higher;  // never to infinity
    state[LossScaleState::good_steps] = 0.0f;
  }
}

/// Inputs: [grad_norm f32[2], loss_scale f32[4] (written in place)]. No outputs.
class LossScaleUpdate final : public OpWith<LossScaleAttributes> {
 public:
  enum Input { grad_norm, loss_scale };
  using OpWith::OpWith;

  std::string_view type() const override { return "loss_scale_update"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input == loss_scale; }
};

}  // namespace ptrain
