// The plan that a cuDNN graph runs with: cuDNN's first choice, or the fastest of all of them (exhaustive search).
#pragma once

#include "core/cuda/device/device.h"
#include "core/cuda/library/cudnn_graph.h"
#include "core/cuda/library/plan_store.h"
#include "core/exec/kernel.h"

#include <functional>
#include <map>

namespace ptrain::cuda {

/// Of the plans that KernelOptions::exhaustive_search asks to time: none, the first few of cuDNN's order of preference,
/// or all.
enum class Search { no, few, all };

/// A graph with its plan compiled; copies share both.
class PlannedGraph {
 public:
  PlannedGraph(std::shared_ptr<const CudnnGraph> graph, std::size_t plan) : graph_(std::move(graph)), plan_(plan) {}

  std::size_t workspace_bytes() const { return graph_->workspace_bytes(plan_); }
  /// "cudnn:eng62_k2=4_k13=0": engine and knobs.
  std::string implementation() const { return "cudnn:" + graph_->plan_names()[plan_]; }
  std::span<const TensorLayout> bound() const { return graph_->bound(); }
  /// Pointers in the order of bound().
  void run(std::span<void* const> pointers, void* workspace) const { graph_->run(plan_, pointers, workspace); }

 private:
  std::shared_ptr<const CudnnGraph> graph_;
  std::size_t plan_;
};

/// Equal layers share a graph, and a step takes over those that were tried when its fusions were chosen: compiling one
/// takes up to a second.
struct PlannedGraphs {
  std::map<std::string, PlannedGraph> by_problem;
  PlanStore store;
};

/// `planned` is empty when cuDNN has no plan, and `reason` says why.
struct Planning {
  std::optional<PlannedGraph> planned;
  std::string reason;
};

/// Plans the graph that `build` makes (more than once) for the kernel of `context`. Timed on scratch memory, plan after
/// plan; problems that were searched before are answered from the search cache.
Planning plan_graph(const KernelContext& context, Device& device, const PlanRules& rules, Search search,
                    const std::function<CudnnGraph()>& build);

/// What a convolution's options allow: all plans within its workspace, TF32 only where it is asked for.
PlanRules convolution_rules(const KernelContext& context);
/// The same without the bound, which is one of convolutions.
PlanRules unbounded_rules(const KernelContext& context);

}  // namespace ptrain::cuda
