// The contract between the executor and a backend's kernels.
#pragma once

#include "core/exec/collectives.h"
#include "core/exec/constant_store.h"
#include "core/exec/search_cache.h"
#include "core/graph/graph.h"

#include <memory>
#include <optional>

namespace ptrain {

/// Pointers bound once, when a plan is compiled. Absent optional inputs are null.
struct KernelArgs {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;
};

/// Result of a kernel's comparison with a plain version; see KernelOptions::batch_norm_guard_every.
struct GuardFinding {
  std::int64_t compared = 0;  // runs
  double worst_drift = 0;     // see core/ops/math/statistics_drift.h
};
/// Merges another kernel's finding, if it is guarded.
void join(std::optional<GuardFinding>& all, const std::optional<GuardFinding>& one);

/// A kernel's part in a training batch norm or its gradient.
enum class BatchNormPart {
  none,           // another op, or a norm at inference
  persistent,     // all of it in one launch, with the data kept on chip between statistics and result
  plain,          // all of it, in passes over memory
  in_convolution  // statistics of a norm that the convolutions around it apply
};

/// Whether a linear layer's product of 16-bit operands is computed from 8 bits; see KernelOptions::fp8.
enum class Fp8Part {
  none,  // no such product
  taken,
  left
};

/// What the sizes of such a product must be multiples of: 16 bytes of memory.
inline constexpr std::int64_t fp8_size_multiple = 16;

/// The choices of a kernel when it was made.
struct KernelRecord {
  std::string implementation = "native";  // for the report: "brgconv:avx512_core_amx"
  BatchNormPart batch_norm = BatchNormPart::none;
  Fp8Part fp8 = Fp8Part::none;
};

/// A compiled node: primitive, descriptors, algorithm. Running it allocates nothing and waits for nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  /// Scratch bytes needed while running; shared by all kernels of a plan.
  virtual std::size_t workspace_bytes() const { return 0; }
  virtual KernelRecord record() const { return {}; }
  /// Called when weights that KernelOptions::constant_weights calls constant have other values from the next run on;
  /// data derived from them is stored in `kept`, which outlives the runs.
  virtual void weights_changed(ConstantStore& /*kept*/) {}
  /// The finding of a guarded kernel; waits for the device.
  virtual std::optional<GuardFinding> guard_finding() const { return std::nullopt; }
};

/// How kernels are chosen, the same for a whole plan. A backend that does not support an option ignores it, and says so
/// in its OptionEffects.
struct KernelOptions {
  bool exhaustive_search = true;                         // time the candidates and keep the fastest
  bool persistent_batch_norm = true;                     // BatchNormPart::persistent where there is such a kernel
  std::int64_t batch_norm_guard_every = 0;               // every how many runs a persistent batch norm is compared; 0:
                                                         // never
  bool tf32 = false;                                     // fp32 convolutions and products may use TF32
  bool fp8 = false;                                      // Fp8Part::taken where there is such a kernel; with
                                                         // exhaustive_search where it is faster
  bool deterministic = false;                            // no sums in a varying order
  bool constant_weights = false;                         // weights do not change while a plan is bound: packed once
  std::size_t workspace_limit = std::size_t{512} << 20;  // bytes of workspace for a convolution
};

/// Everything a kernel factory may use.
struct KernelContext {
  const Op& op;
  std::span<const TensorDesc> inputs;  // absent_input() where absent
  std::span<const TensorDesc> outputs;
  KernelOptions options = {};
  SearchCache* search_cache = nullptr;  // choices of earlier searches; null: search every time
  Collectives* collectives = nullptr;   // the other ranks; null: none

  /// The op as its concrete type, which the registry's key guarantees.
  template <typename T>
  const T& op_as() const {
    return static_cast<const T&>(op);
  }
};

/// The problem that a kernel solves, as a key of searches and for messages: op, attributes and descriptors.
std::string describe_problem(const KernelContext& context);

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelContext&);

}  // namespace ptrain
