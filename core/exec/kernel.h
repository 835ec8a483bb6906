// The contract between the executor and a backend's kernels.
#pragma once

#include "core/exec/search_cache.h"
#include "core/graph/graph.h"

#include <memory>

namespace ptrain {

/// Pointers bound once, when a plan is compiled. Absent optional inputs are null.
struct KernelArgs {
  std::span<void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;
};

/// A compiled node: primitive, descriptors, algorithm. Running it allocates nothing and waits for nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) = 0;
  /// Scratch bytes needed while running; shared by all kernels of a plan.
  virtual std::size_t workspace_bytes() const { return 0; }
  /// What was chosen, for the report: "brgconv:avx512_core_amx", "native".
  virtual std::string implementation() const { return "native"; }
};

/// Everything a kernel factory may look at.
struct KernelContext {
  const Op& op;
  std::span<const TensorDesc> inputs;  // absent_input() where absent
  std::span<const TensorDesc> outputs;
  bool exhaustive_search = true;        // time the candidate implementations and keep the fastest
  SearchCache* search_cache = nullptr;  // what earlier searches chose; null: search every time

  /// The op as its concrete type, which the registry's key guarantees.
  template <typename T>
  const T& op_as() const {
    return static_cast<const T&>(op);
  }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelContext&);

}  // namespace ptrain
