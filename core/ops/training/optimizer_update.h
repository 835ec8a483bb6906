// One fused update of every parameter over flat buffers (multi-tensor SGD, momentum, Adam, AdamW, Adagrad, RMSProp,
// LARS, LAMB).
#pragma once

#include "core/graph/op.h"
#include "core/ops/math/optimizer_math.h"

namespace ptrain {

/// One parameter's part of the flat buffers, or the piece of it that a rank updates, in elements.
struct ParameterSegment {
  std::int64_t count = 0;
  std::int64_t master_offset = 0;  // in master
  std::int64_t grad_offset = 0;    // in grad_f32, or in grad_low when low_offset >= 0
  std::int64_t low_offset = -1;    // in the low-precision copy and grad_low; -1 when trained in fp32
  std::int64_t moment_shift = 0;   // from the place in master to that in the moments, of which a rank may keep a part
  bool decay = true;               // subject to weight decay (and LARS/LAMB trust ratio)
};

/// Where several ops update parameters, the op that counts the step: this one, or a later one.
enum class UpdateCount { here, later };

/// State inputs are flat and written in place; gradients are flat, or those of the one parameter.
class OptimizerUpdate final : public Op {
 public:
  enum Input : int {
    learning_rate,  // f32[1], fed each step
    grad_f32,       // f32[G], optional
    grad_low,       // bf16|f16 [L], optional
    grad_norm,      // f32[2] {norm, found_inf}, optional
    loss_scale,     // f32[4], optional: gradients carry this scale
    master,         // f32[N] parameters
    low,            // bf16|f16 [L] low-precision copy of the parameters, optional
    moment1,        // f32[N], or this rank's part: velocity, first moment or squares, optional
    moment2,        // likewise
    moment3,        // likewise
    updates,        // f32[1] number of updates applied so far
    count
  };

  OptimizerUpdate(OptimizerSettings settings, std::vector<ParameterSegment> segments,
                  UpdateCount counted = UpdateCount::here)
      : settings_(settings), segments_(std::move(segments)), counted_(counted) {}
  const OptimizerSettings& settings() const { return settings_; }
  const std::vector<ParameterSegment>& segments() const { return segments_; }
  UpdateCount counted() const { return counted_; }

  std::string_view type() const override { return "optimizer_update"; }
  std::string attributes() const override;
  std::vector<TensorDesc> infer(std::span<const TensorDesc> inputs) const override;
  AmpClass amp_class() const override { return AmpClass::keep; }
  bool mutates_input(int input) const override { return input >= master; }
  Cost cost(std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) const override;

 private:
  OptimizerSettings settings_;
  std::vector<ParameterSegment> segments_;
  UpdateCount counted_;
};

/// Moments kept per parameter: 0 to 3.
int moment_count(const OptimizerSettings& settings);

}  // namespace ptrain
