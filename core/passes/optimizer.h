// Lays parameters, gradients and optimizer state out in flat buffers and appends the update.
#pragma once

#include "core/ops/training/loss_scale_update.h"
#include "core/ops/training/optimizer_update.h"
#include "core/passes/autodiff.h"
#include "core/passes/update/parameter_groups.h"

#include <functional>
#include <optional>

namespace ptrain {

/// Names of the values the pass adds.
namespace flat {
inline constexpr const char* master = "flat.master";      // f32 parameters
inline constexpr const char* low = "flat.low";            // low-precision copies (O2)
inline constexpr const char* grad = "flat.grad";          // gradients of fp32 parameters
inline constexpr const char* grad_low = "flat.grad_low";  // gradients of low-precision parameters
inline constexpr const char* moment1 = "optimizer.moment1";
inline constexpr const char* moment2 = "optimizer.moment2";
inline constexpr const char* moment3 = "optimizer.moment3";
inline constexpr const char* updates = "optimizer.updates";
inline constexpr const char* average = "flat.average";         // f32, moving average of flat.master, where one is kept
inline constexpr const char* learning_rate = "learning_rate";  // input f32[1]
inline constexpr const char* micro_step = "micro_step";        // input i32[1], only when accumulating
inline constexpr const char* grad_norm = "grad_norm";          // output f32[2] {norm, found_inf}
inline constexpr const char* table = "table.";  // before the name of a table that is updated by rows; f32 like it
}  // namespace flat

struct OptimizerPassOptions {
  OptimizerSettings settings;
  /// Whether weight decay applies to a parameter, by name and shape.
  std::function<bool(std::string_view, const Shape&)> decays;
  /// What parameters are treated otherwise; those that are not trainable have no gradient by now.
  std::vector<ParameterGroup> groups;
  /// Parameters with gradients of so many bytes and more are updated as soon as backward can do without them, where
  /// nothing needs all gradients first; these gradients then live in the arena, and not to the end of the step.
  std::optional<std::size_t> early_updates;  // none: all at the end
  float average_decay = 0;                   // of a moving average of the parameters; 0: none is kept
  bool accumulate = false;                   // gradients are summed over micro-batches before the update
  ValueId loss_scale = no_value;             // the scaler's state, when there is one
  LossScaleAttributes loss_scale_attributes;
};

/// Parameters become views of flat::master (and flat::low), their gradients views of flat::grad (and flat::grad_low),
/// but those that are updated early; the update phase is appended. A low-precision parameter "w@bf16" is paired with
/// its master "w". A table with a gradient of rows lies in a buffer of its own, as its moments do, and is updated by
/// those rows; the gradient is a view of flat::grad, so that the norm and the search for infinities take it in. A
/// group of parameters has an update of its own, before the one that counts. A parameter without a gradient, since it
/// is frozen, stays a variable by itself. Throws Error{usage} where the settings ask for what takes all rows: LARS,
/// LAMB, sums over micro-batches, a moving average.
Graph add_optimizer(Differentiated differentiated, const OptimizerPassOptions& options);

}  // namespace ptrain
