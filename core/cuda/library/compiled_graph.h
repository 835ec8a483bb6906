// Selects and compiles the plan of a cuDNN graph: cuDNN's first choice, or the fastest of all (exhaustive search).
#pragma once

#include "core/cuda/device/device.h"
#include "core/cuda/library/cudnn_graph.h"
#include "core/cuda/library/engine_cache.h"
#include "core/exec/kernel.h"

#include <functional>
#include <map>

namespace ptrain::cuda {

/// The plans that KernelOptions::exhaustive_search times: none, the first few in cuDNN's order of preference (compiled
/// in parallel: from source, half a second each), or all.
enum class Search { no, few, all };

/// A graph with its compiled plan; copies share both. If the plan fails at its first run, which must not be in a
/// capture, the next one that runs replaces it; this is noted on the device, and the stores are updated.
class CompiledGraph {
 public:
  struct State;
  explicit CompiledGraph(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// For run(), of the plan that was chosen first.
  std::size_t workspace_bytes() const;
  /// "cudnn:eng62_k2=4_k13=0": engine and knobs.
  std::string implementation() const;
  std::span<const TensorLayout> bound() const;
  /// Pointers in the order of bound(). Throws Error{failed} when no plan runs.
  void run(std::span<void* const> pointers, void* workspace) const;

 private:
  std::shared_ptr<State> state_;
};

/// Graphs shared by equal layers and between the choice of fusions and the step: compiling one takes up to a second.
struct CompiledGraphs {
  std::map<std::string, CompiledGraph> by_problem;
  EngineCache store;
  std::optional<EngineCache> shipped = {};       // used where `store` has no suitable plan; opened on first use
  std::optional<bool> numbers_masks_alike = {};  // for cuDNN; tested on first use
};

/// `planned` is empty when cuDNN has no plan; `reason` says why.
struct Planning {
  std::optional<CompiledGraph> planned;
  std::string reason;
};

/// Plans the graph that `build` makes (more than once) for the kernel of `context`. Plans are timed on scratch memory,
/// one after the other; problems that were searched before are looked up in the search cache. `build` may be called in
/// several threads at once.
Planning plan_graph(const KernelContext& context, Device& device, const EngineRules& rules, Search search,
                    const std::function<CudnnGraph()>& build);

/// The rules from a convolution's options: all plans within its workspace, TF32 only if allowed.
EngineRules convolution_rules(const KernelContext& context);
/// The same without the workspace limit, which is for convolutions.
EngineRules unbounded_rules(const KernelContext& context);

}  // namespace ptrain::cuda
