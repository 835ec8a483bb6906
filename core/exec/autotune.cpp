#include "core/exec/autotune.h"

#include "core/base/errors.h"
#include "core/base/hash.h"
#include "core/exec/kernel_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace ptrain {
namespace {

/// Times the candidates on inputs, outputs and workspace allocated for the trial.
std::optional<std::size_t> fastest(const KernelContext& context, const std::vector<std::unique_ptr<Kernel>>& candidates,
                                   LapTimer& timer, const TrialMemory& memory) {
  const auto pointers = [&](std::span<const TensorDesc> descs) {
    std::vector<void*> list;
    for (const TensorDesc& desc : descs) list.push_back(is_absent(desc) ? nullptr : memory(desc));
    return list;
  };
  const std::vector<void*> inputs = pointers(context.inputs), outputs = pointers(context.outputs);
  std::size_t bytes = 0;
  for (const auto& candidate : candidates) bytes = std::max(bytes, candidate->workspace_bytes());
  void* const workspace = memory({DType::u8, Shape{static_cast<std::int64_t>(bytes)}});
  std::vector<KernelLaunch> launches;
  for (const auto& candidate : candidates) {
    launches.push_back([&] { candidate->run({inputs, outputs, workspace}); });
  }
  return find_fastest(timer, launches);
}

/// The key of a choice: the problem, whether weights are packed at each run, and the candidates.
std::string make_search_key(const KernelContext& context, const std::vector<std::unique_ptr<Kernel>>& candidates) {
  std::string names;
  for (const auto& candidate : candidates) names += candidate->record().implementation + "|";
  const char* weights = context.options.constant_weights ? " constant weights" : "";
  return fmt::format("{}{} of {:016x}", describe_problem(context), weights, fnv1a64(names));
}

/// The candidate that PTRAIN_KERNEL requests; null: none.
std::unique_ptr<Kernel>* find_requested(std::vector<std::unique_ptr<Kernel>>& candidates) {
  const char* part = std::getenv("PTRAIN_KERNEL");
  if (part == nullptr || *part == '\0') return nullptr;
  const auto found = std::find_if(candidates.begin(), candidates.end(), [part](const auto& candidate) {
    return candidate->record().implementation.find(part) != std::string::npos;
  });
  return found == candidates.end() ? nullptr : &*found;
}

}  // namespace

std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates,
                                      LapTimer& timer, const TrialMemory& memory) {
  if (candidates.empty()) fail("no implementation of {}", describe_problem(context));
  if (auto* requested = find_requested(candidates)) return std::move(*requested);
  if (!context.options.exhaustive_search || candidates.size() == 1) return std::move(candidates.front());
  const std::string problem = make_search_key(context, candidates);
  const auto index_of = [&](const std::string& name) {
    return std::ranges::find(candidates, name, [](const auto& kernel) { return kernel->record().implementation; }) -
           candidates.begin();
  };
  SearchCache* const cache = context.search_cache;
  const std::string known = cache == nullptr ? std::string{} : cache->find(problem);
  if (const auto earlier = index_of(known); earlier != std::ssize(candidates)) return std::move(candidates[earlier]);
  auto chosen = static_cast<std::ptrdiff_t>(fastest(context, candidates, timer, memory).value_or(0));
  if (cache != nullptr) {
    const auto first = index_of(cache->store(problem, candidates[chosen]->record().implementation, known));
    if (first != std::ssize(candidates)) chosen = first;
  }
  return std::move(candidates[chosen]);
}

}  // namespace ptrain
