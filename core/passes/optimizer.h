// Lays out parameters, gradients and optimizer state in flat buffers and appends the update.
#pragma once

#include "core/base/rank_slice.h"
#include "core/base/row_shard.h"
#include "core/ops/training/loss_scale_update.h"
#include "core/ops/training/optimizer_update.h"
#include "core/passes/autodiff.h"
#include "core/passes/update/parameter_groups.h"

#include <array>
#include <functional>
#include <limits>
#include <optional>

namespace ptrain {

/// Names of the values that the pass adds.
namespace flat {
inline constexpr const char* master = "flat.master";      // f32 parameters
inline constexpr const char* low = "flat.low";            // low-precision copies (O2)
inline constexpr const char* grad = "flat.grad";          // gradients of fp32 parameters
inline constexpr const char* grad_low = "flat.grad_low";  // gradients of low-precision parameters
inline constexpr const char* moment1 = "optimizer.moment1";
inline constexpr const char* moment2 = "optimizer.moment2";
inline constexpr const char* moment3 = "optimizer.moment3";
inline constexpr std::string_view moments = "optimizer.moment";  // prefix of all of them
inline constexpr std::array all_moments{moment1, moment2, moment3};
inline constexpr const char* updates = "optimizer.updates";
inline constexpr const char* average = "flat.average";         // f32, moving average of flat.master, optional
inline constexpr std::string_view average_of = "average.";     // prefix of the average of another variable
inline constexpr const char* learning_rate = "learning_rate";  // input f32[1]
inline constexpr const char* micro_step = "micro_step";        // input i32[1], only when accumulating
inline constexpr const char* micro_weights = "micro_weights";  // input f32[2], only when accumulating (accumulate.h)
inline constexpr const char* grad_norm = "grad_norm";          // output f32[2] {norm, found_inf}
inline constexpr const char* grad_norms = "flat.grad.norms";   // f32, {norm, found_inf} of every rank's slices
inline constexpr const char* table_norms = "flat.grad.table_norms";  // and of its rows of each table
inline constexpr const char* table = "table.";  // prefix of the name of a table with sparse updates; f32 like it
/// Suffixes of what a rank keeps of a buffer that ranks divide: its slices of the first elements, and all others whole.
inline constexpr std::string_view shard = ".shard";
inline constexpr std::string_view rest = ".rest";
}  // namespace flat

/// Whether a variable is this rank's slices of a buffer.
inline bool is_shard(std::string_view variable) { return variable.ends_with(flat::shard); }
/// Whether it is the rest of a buffer of which ranks keep slices.
inline bool is_rest(std::string_view variable) { return variable.ends_with(flat::rest); }

/// Which parameters are updated as soon as backward no longer needs them, by the bytes of their gradients.
struct EarlyUpdates {
  std::size_t least = std::size_t{1} << 20;  // smaller ones are not worth a launch
  /// FLOPs for each element of a matrix's gradient: an update evicts cache lines that backward uses, which costs little
  /// beside that much arithmetic. Those of convolutions are small beside their activations.
  double arithmetic = 0;
  std::size_t any = std::numeric_limits<std::size_t>::max();  // from here on, however little arithmetic
};

struct OptimizerPassOptions {
  OptimizerSettings settings;
  /// Whether weight decay applies to a parameter, by name and shape.
  std::function<bool(std::string_view, const Shape&)> decays;
  /// Parameters with settings of their own; frozen ones have no gradient by now.
  std::vector<ParameterGroup> groups;
  /// Where no update needs all gradients first: early ones' gradients live in the arena, and not to the end of the
  /// step.
  std::optional<EarlyUpdates> early_updates;  // none: all at the end
  float average_decay = 0;                    // decay of a moving average of the parameters; 0: no average
  bool accumulate = false;                    // gradients are summed over micro-batches before the update
  std::optional<Shard> shard;                 // the part of the moments that this rank keeps; none: all
  bool whole_masters = true;                  // else, of fp32 masters of low-precision parameters, a part too
  bool whole_sums = true;                     // else, of the sums over micro-batches too
  std::optional<RowShard> tables = {};        // this rank's rows of tables whose gradients are of them alone
  ValueId loss_scale = no_value;              // the scaler's state, when there is one
  LossScaleAttributes loss_scale_attributes;
};

/// Parameters become views of flat::master (and flat::low), their gradients views of flat::grad (and flat::grad_low),
/// except those that are updated early; the update phase is appended. A low-precision parameter "w@bf16" is paired with
/// its master "w". A table with a sparse gradient and its moments have buffers of their own and are updated by those
/// rows; the gradient is a view of flat::grad, behind all others, so that the norm and the overflow check include it;
/// where ranks have those of their rows alone, they exchange the norms of these. A
/// parameter group has its own update, before the one that counts. Parameters with a low-precision copy come first in
/// flat::master, in flat::low's order. With a shard, updates and moments are of this rank's slices of flat::master
/// alone: others must update the rest (add_grad_allreduce). Without whole masters, so are those with low-precision
/// copies, and no variable has them whole; the others and their moments are then whole, and every rank updates all of
/// them. Where nothing but the update reads gradients, they lie as the parameters that ranks divide do. Without whole
/// sums, the same goes for sums over micro-batches, to which gradients must be added up over ranks beforehand. A frozen
/// parameter, which has no gradient, stays a separate variable. Throws Error{usage} where the settings need all rows of
/// such a table: LARS, LAMB, gradient accumulation, a moving average. LARS, LAMB and Muon, which read whole parameters,
/// have no shards.
Graph add_optimizer(Differentiated differentiated, const OptimizerPassOptions& options);

/// Makes no variables of fp32 parameters that have a low-precision copy and no reader.
void drop_masters(Graph& graph);

}  // namespace ptrain
