// The plan that a cuDNN graph runs with: cuDNN's first choice, or the fastest of all of them (exhaustive search).
#pragma once

#include "core/cuda/device/device.h"
#include "core/cuda/library/cudnn_graph.h"
#include "core/cuda/library/engine_cache.h"
#include "core/exec/kernel.h"

#include <functional>
#include <map>

namespace ptrain::cuda {

/// Of the plans that KernelOptions::exhaustive_search asks to time: none, the first few of cuDNN's order of preference
/// (compiled at the same time: from source, half a second each), or all.
enum class Search { no, few, all };

/// A graph with its plan compiled; copies share both. A plan that fails when it is first run, which must not be in a
/// capture, gives way to the next that runs; the device then has a note, and the stores what runs.
class CompiledGraph {
 public:
  struct State;
  explicit CompiledGraph(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// That run() is given, of the plan that was chosen first.
  std::size_t workspace_bytes() const;
  /// "cudnn:eng62_k2=4_k13=0": engine and knobs.
  std::string implementation() const;
  std::span<const TensorLayout> bound() const;
  /// Pointers in the order of bound(). Throws Error{failed} when no plan runs.
  void run(std::span<void* const> pointers, void* workspace) const;

 private:
  std::shared_ptr<State> state_;
};

/// Equal layers share a graph, and a step takes over those that were tried when its fusions were chosen: compiling one
/// takes up to a second.
struct CompiledGraphs {
  std::map<std::string, CompiledGraph> by_problem;
  EngineCache store;
  std::optional<EngineCache> shipped = {};       // asked where `store` has no plan that will do; looked for then
  std::optional<bool> numbers_masks_alike = {};  // cuDNN; found out when first asked
};

/// `planned` is empty when cuDNN has no plan, and `reason` says why.
struct Planning {
  std::optional<CompiledGraph> planned;
  std::string reason;
};

/// Plans the graph that `build` makes (more than once) for the kernel of `context`. Timed on scratch memory, plan after
/// plan; problems that were searched before are answered from the search cache. `build` may be called in several
/// threads at once.
Planning plan_graph(const KernelContext& context, Device& device, const EngineRules& rules, Search search,
                    const std::function<CudnnGraph()>& build);

/// What a convolution's options allow: all plans within its workspace, TF32 only where it is asked for.
EngineRules convolution_rules(const KernelContext& context);
/// The same without the bound, which is one of convolutions.
EngineRules unbounded_rules(const KernelContext& context);

}  // namespace ptrain::cuda
