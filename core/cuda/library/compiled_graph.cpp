#include "core/cuda/library/compiled_graph.h"

#include "core/base/errors.h"
#include "core/cuda/device/event_timer.h"
#include "core/cuda/library/scratch.h"
#include "core/cuda/library/shipped_engines.h"
#include "core/exec/kernel_timing.h"

#include <fmt/format.h>

#include <future>
#include <limits>

namespace ptrain::cuda {

struct CompiledGraph::State {
  Device& device;
  CudnnGraph graph;
  std::size_t plan;
  std::size_t workspace_bytes;
  // What is needed to find another plan, until one has run:
  std::optional<CudnnGraph> unplanned;
  EngineRules rules;
  std::function<void(const std::string& name, const CudnnGraph& graph)> keep;  // updates the stores
  std::unique_ptr<ScratchMemory> own_workspace = {};                           // for another plan that needs more
                                                                               // workspace

  void run(std::span<void* const> pointers, void* workspace) const {
    graph.run(plan, pointers, own_workspace != nullptr ? own_workspace->data() : workspace);
  }

  void run_first(std::span<void* const> pointers, void* workspace) {
    try {
      run(pointers, workspace);
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& error) {
      if (!run_another(pointers, workspace, error.what())) throw;
    }
    unplanned.reset();
  }

  /// False when none of the other plans runs.
  bool run_another(std::span<void* const> pointers, void* workspace, const std::string& reason) {
    const std::string failed = graph.plan_names()[plan];
    graph = std::move(*unplanned);
    if (graph.plan(rules)) return false;
    for (plan = 0; plan < graph.plan_names().size(); ++plan) {
      const std::string& name = graph.plan_names()[plan];
      cudaGetLastError();  // clear the failed launch's error for later calls
      if (name == failed || !graph.build(plan)) continue;
      const std::size_t bytes = graph.workspace_bytes(plan);
      if (bytes > workspace_bytes) own_workspace = std::make_unique<ScratchMemory>(device, bytes, DType::u8);
      try {
        run(pointers, workspace);
      } catch (const Error&) {
        continue;
      }
      device.note(fmt::format("cuDNN: {} could not be run; {} runs instead: {}", failed, name, reason));
      keep(name, graph);
      return true;
    }
    return false;
  }
};

std::size_t CompiledGraph::workspace_bytes() const { return state_->workspace_bytes; }
std::string CompiledGraph::implementation() const { return "cudnn:" + state_->graph.plan_names()[state_->plan]; }
std::span<const TensorLayout> CompiledGraph::bound() const { return state_->graph.bound(); }
void CompiledGraph::run(std::span<void* const> pointers, void* workspace) const {
  state_->unplanned ? state_->run_first(pointers, workspace) : state_->run(pointers, workspace);
}

namespace {

/// A compiled plan. Candidates of a search share a graph, or have one each.
struct CompiledPlan {
  std::shared_ptr<CudnnGraph> graph;
  std::size_t plan;

  const std::string& name() const { return graph->plan_names()[plan]; }
};

/// The first `most` plans that compile, one after the other.
std::vector<CompiledPlan> compile_first(const std::shared_ptr<CudnnGraph>& graph, std::size_t most) {
  std::vector<CompiledPlan> compiled;
  for (std::size_t i = 0; i < graph->plan_names().size() && compiled.size() < most; ++i) {
    if (graph->build(i)) compiled.push_back({graph, i});
  }
  return compiled;
}

/// The same in parallel: each in its own thread, on its own graph.
std::vector<CompiledPlan> compile_together(const std::function<std::shared_ptr<CudnnGraph>()>& planned,
                                           std::size_t count, std::size_t most) {
  std::vector<CompiledPlan> compiled;
  for (std::size_t next = 0; next < count && compiled.size() < most;) {
    std::vector<std::future<CompiledPlan>> threads;
    for (std::size_t lacking = most - compiled.size(); lacking > 0 && next < count; --lacking, ++next) {
      threads.push_back(std::async(std::launch::async, [&planned, plan = next] {
        const std::shared_ptr<CudnnGraph> graph = planned();
        return CompiledPlan{graph->build(plan) ? graph : nullptr, plan};
      }));
    }
    for (auto& thread : threads) {
      if (CompiledPlan result = thread.get(); result.graph != nullptr) compiled.push_back(std::move(result));
    }
  }
  return compiled;
}

std::optional<std::size_t> build_named(CudnnGraph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.plan_names().size(); ++i) {
    if (graph.plan_names()[i] == name && graph.build(i)) return i;
  }
  return std::nullopt;
}

/// The fastest; empty when none runs.
std::optional<CompiledPlan> fastest(const Device& device, const std::vector<CompiledPlan>& candidates) {
  if (candidates.empty()) return std::nullopt;
  const ScratchTensors tensors(device, candidates.front().graph->bound());
  std::size_t bytes = 0;
  for (const auto& [graph, plan] : candidates) bytes = std::max(bytes, graph->workspace_bytes(plan));
  const ScratchMemory workspace(device, bytes, DType::u8);
  std::vector<KernelLaunch> launches;
  for (const CompiledPlan& candidate : candidates) {
    launches.push_back([&] { candidate.graph->run(candidate.plan, tensors.pointers(), workspace.data()); });
  }
  EventTimer timer(device);
  const std::optional<std::size_t> chosen = find_fastest(timer, launches);
  return chosen ? std::optional(candidates[*chosen]) : std::nullopt;
}

/// Everything that the choice depends on.
std::string describe_problem(const KernelContext& context, const EngineRules& rules) {
  return fmt::format("{} cudnn tensor_cores={} deterministic={} workspace={}", describe_problem(context),
                     rules.tensor_cores, rules.deterministic, rules.workspace_limit);
}

/// The choice of an earlier exhaustive search; empty when there was none.
std::string read_earlier_choice(const KernelContext& context, const std::string& problem) {
  return context.search_cache == nullptr ? std::string{} : context.search_cache->find(problem);
}

/// The compiled choice of an exhaustive search, this or an earlier one; `graph` is planned, and `build` makes equal
/// graphs.
std::optional<CompiledPlan> searched(const KernelContext& context, const std::string& problem, const Device& device,
                                     const EngineRules& rules, Search search, const std::shared_ptr<CudnnGraph>& graph,
                                     const std::function<CudnnGraph()>& build) {
  constexpr std::size_t few = 4;
  const std::string known = read_earlier_choice(context, problem);
  if (!known.empty()) {
    if (const auto plan = build_named(*graph, known)) return CompiledPlan{graph, *plan};
  }
  const auto planned = [&] {
    const auto equal = std::make_shared<CudnnGraph>(build());
    equal->plan(rules);
    return equal;
  };
  // On graphs other than the one that is kept, so that the losers' code is freed with them.
  std::optional<CompiledPlan> chosen = search == Search::few
                                           ? fastest(device, compile_together(planned, graph->plan_names().size(), few))
                                           : fastest(device, compile_first(planned(), graph->plan_names().size()));
  if (!chosen) return std::nullopt;
  if (context.search_cache != nullptr) {
    const std::string first = context.search_cache->store(problem, chosen->name(), known);
    if (first != chosen->name()) {
      if (const auto plan = build_named(*graph, first)) return CompiledPlan{graph, *plan};
    }
  }
  if (search == Search::few) return chosen;
  const auto plan = build_named(*graph, chosen->name());
  return plan ? std::optional(CompiledPlan{graph, *plan}) : std::nullopt;
}

}  // namespace

Planning plan_graph(const KernelContext& context, Device& device, const EngineRules& rules, Search search,
                    const std::function<CudnnGraph()>& build) {
  const bool searches = search != Search::no && context.options.exhaustive_search;
  const std::string problem = describe_problem(context, rules), key = fmt::format("{} search={}", problem, searches);
  CompiledGraphs& kept = device.planned_graphs();
  if (const auto entry = kept.by_problem.find(key); entry != kept.by_problem.end()) return {entry->second, {}};
  CudnnGraph graph = build();
  const std::string identity = key + ' ' + graph.structure();
  const auto store = [&kept, identity](const std::string& name, const CudnnGraph& compiled) {
    if (std::vector<std::uint8_t> code = compiled.save(); !code.empty()) {
      kept.store.store(identity, {name, std::move(code)});
    }
  };
  const auto keep = [&](CudnnGraph compiled, std::size_t plan) {
    const std::size_t bytes = compiled.workspace_bytes(plan);
    const auto replace = [store, problem, cache = searches ? context.search_cache : nullptr](
                             const std::string& name, const CudnnGraph& replacement) {
      store(name, replacement);
      if (cache != nullptr) cache->replace(problem, name);
    };
    const CompiledGraph planned(std::make_shared<CompiledGraph::State>(
        CompiledGraph::State{device, std::move(compiled), plan, bytes, build(), rules, replace}));
    kept.by_problem.emplace(key, planned);
    return Planning{planned, {}};
  };
  const auto restored_from = [&](const EngineCache& plans) {
    const auto stored = plans.find(identity);
    const bool wanted = stored && (!searches || stored->name == read_earlier_choice(context, problem));
    return wanted && graph.restore(stored->name, stored->code);
  };
  if (restored_from(kept.store)) return keep(std::move(graph), 0);
  if (!kept.shipped) kept.shipped = shipped_plans(device.cudnn());
  if (restored_from(*kept.shipped)) return keep(std::move(graph), 0);
  if (std::optional<std::string> reason = graph.plan(rules)) return {std::nullopt, std::move(*reason)};
  const auto shared = std::make_shared<CudnnGraph>(std::move(graph));
  std::optional<CompiledPlan> chosen;
  if (searches) {
    chosen = searched(context, problem, device, rules, search, shared, build);
  } else if (const std::vector<CompiledPlan> first = compile_first(shared, 1); !first.empty()) {
    chosen = first.front();
  }
  if (!chosen) return {std::nullopt, fmt::format("none of cuDNN's {} plans can be used", shared->plan_names().size())};
  store(chosen->name(), *chosen->graph);
  return keep(std::move(*chosen->graph), chosen->plan);
}

EngineRules convolution_rules(const KernelContext& context) {
  const bool low = is_low_precision(context.inputs[0].dtype);
  return {low || context.options.tf32, context.options.deterministic, context.options.workspace_limit};
}

EngineRules unbounded_rules(const KernelContext& context) {
  EngineRules rules = convolution_rules(context);
  rules.workspace_limit = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  return rules;
}

}  // namespace ptrain::cuda
