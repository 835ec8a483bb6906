// A backend's kernels and their capabilities.
#pragma once

#include "core/exec/kernel.h"
#include "core/passes/memory_plan.h"

#include <string>

namespace ptrain {

/// The effect of an option, with a reason where it differs from the request or needs explanation.
template <typename Value>
struct OptionEffect {
  Value value = {};
  std::string reason = {};
};

/// The effects of those KernelOptions that the report lists.
struct OptionEffects {
  OptionEffect<bool> exhaustive_search;
  OptionEffect<bool> persistent_batch_norm;
  OptionEffect<std::size_t> workspace_limit;
  OptionEffect<bool> fp8;
};

/// How a device's kernels multiply 8-bit integers. saturating: pairs of products are added in 16 bits, which do not
/// overflow for weights within 64 (processors without VNNI).
enum class Int8Arithmetic { none, saturating, exact };

class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;

  /// Throws Error{failed} naming the op when no kernel can run it.
  virtual std::unique_ptr<Kernel> make_kernel(const KernelContext& context) = 0;
  /// Choices of exhaustive searches on this device.
  virtual SearchCache& search_cache() = 0;
  /// The effects of `options` in a run with these kernels (none: the run ended before there were any).
  virtual OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const = 0;
  /// The low precision that AMP's dtype auto selects.
  virtual DType preferred_low_precision() const = 0;
  /// Its arithmetic for op_list.h's 8-bit ops.
  virtual Int8Arithmetic int8_arithmetic() const { return Int8Arithmetic::none; }
  /// Whether its kernel for `op` may write an output over the input that Op::inplace_input() names.
  virtual bool runs_in_place(const Op& /*op*/, const KernelOptions& /*options*/) const { return true; }
  /// Whether its batch norms support statistics over all ranks.
  virtual bool syncs_batch_norm() const { return false; }
  /// Whether fusing norms into convolutions may pay off with its kernels.
  virtual bool fuses_convolutions() const { return false; }
  /// Whether it has kernels that read weights in blocks (block_linear, block_embedding).
  virtual bool reads_block_weights() const { return false; }
};

/// Activations of `graph` placed for the kernels that `library` makes with `options`.
inline MemoryPlan plan_memory(const Graph& graph, MemoryReuse reuse, const KernelLibrary& library,
                              const KernelOptions& options) {
  return plan_memory(graph, reuse, [&](const Op& op) { return library.runs_in_place(op, options); });
}

}  // namespace ptrain
