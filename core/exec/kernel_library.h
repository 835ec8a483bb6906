// What a backend can compute: its kernels, and what they are good at.
#pragma once

#include "core/exec/kernel.h"

#include <string>

namespace ptrain {

/// What became of an option, with a reason where that is not what was asked for, or deserves a word.
template <typename Value>
struct OptionEffect {
  Value value = {};
  std::string reason = {};
};

/// What became of those of KernelOptions that the report accounts for.
struct OptionEffects {
  OptionEffect<bool> exhaustive_search;
  OptionEffect<bool> persistent_batch_norm;
  OptionEffect<std::size_t> workspace_limit;
};

/// How a device's kernels multiply 8-bit integers. saturating: pairs of products are added in 16 bits, which hold them
/// where weights stay within 64 (processors without VNNI).
enum class Int8Arithmetic { none, saturating, exact };

class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;

  /// Throws Error{failed} naming the op when no kernel can run it.
  virtual std::unique_ptr<Kernel> make_kernel(const KernelContext& context) = 0;
  /// What exhaustive searches chose on this device.
  virtual SearchCache& search_cache() = 0;
  /// What `options` came to in a run with these kernels (none: it never got that far).
  virtual OptionEffects effects(const KernelOptions& options, std::span<const KernelRecord> kernels) const = 0;
  /// The low precision that AMP's dtype auto stands for.
  virtual DType preferred_low_precision() const = 0;
  /// What it has for op_list.h's 8-bit ops.
  virtual Int8Arithmetic int8_arithmetic() const { return Int8Arithmetic::none; }
  /// Whether its batch norms can take their statistics over all ranks.
  virtual bool syncs_batch_norm() const { return false; }
  /// Whether it has kernels that may make it worth while to fuse norms into convolutions.
  virtual bool fuses_convolutions() const { return false; }
};

}  // namespace ptrain
