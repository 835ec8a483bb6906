#include "core/cpu/kernel_search.h"

#include "core/base/errors.h"
#include "core/base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace ptrain::cpu {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, Free>;

Buffer zeroed(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  const std::size_t size = (bytes + alignment) / alignment * alignment;
  Buffer buffer(std::aligned_alloc(alignment, size));
  if (buffer == nullptr) fail("out of memory while searching kernels: cannot allocate {} MiB", size >> 20);
  std::memset(buffer.get(), 0, size);
  return buffer;
}

/// Scratch inputs, outputs and workspace for one problem.
class Trial {
 public:
  Trial(const KernelContext& context, const std::vector<std::unique_ptr<Kernel>>& candidates) {
    for (const TensorDesc& desc : context.inputs) add(inputs_, desc);
    for (const TensorDesc& desc : context.outputs) add(outputs_, desc);
    std::size_t bytes = 0;
    for (const auto& candidate : candidates) bytes = std::max(bytes, candidate->workspace_bytes());
    workspace_ = zeroed(bytes);
  }

  /// Seconds of one run.
  double seconds(Kernel& kernel) const {
    const KernelArgs args{inputs_, outputs_, workspace_.get()};
    const auto start = std::chrono::steady_clock::now();
    kernel.run(args);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  void add(std::vector<void*>& pointers, const TensorDesc& desc) {
    buffers_.push_back(is_absent(desc) ? nullptr : zeroed(desc.bytes()));
    pointers.push_back(buffers_.back().get());
  }

  std::vector<Buffer> buffers_;
  std::vector<void*> inputs_, outputs_;
  Buffer workspace_;
};

/// Runs the candidates by turns, so that what disturbs the machine for a while disturbs all of them; the best run
/// counts.
std::size_t fastest(const KernelContext& context, const std::vector<std::unique_ptr<Kernel>>& candidates) {
  constexpr int rounds = 5;            // the first one warms up
  constexpr double hopeless = 4;       // times the best, from which a candidate is not tried again
  constexpr double worthwhile = 0.97;  // the library's own order stands unless another is clearly faster
  const Trial trial(context, candidates);
  std::vector<double> seconds(candidates.size(), 1e30);
  for (int round = 0; round < rounds; ++round) {
    const double to_beat = *std::min_element(seconds.begin(), seconds.end());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (seconds[i] > hopeless * to_beat) continue;
      seconds[i] = std::min(seconds[i], trial.seconds(*candidates[i]));
    }
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    if (seconds[i] < worthwhile * seconds[best]) best = i;
  }
  return best;
}

/// The key of a choice: the problem, and what there was to choose from.
std::string question(const KernelContext& context, const std::vector<std::unique_ptr<Kernel>>& candidates) {
  std::string names;
  for (const auto& candidate : candidates) names += candidate->record().implementation + "|";
  return fmt::format("{} of {:016x}", describe_problem(context), fnv1a64(names));
}

}  // namespace

std::unique_ptr<Kernel> choose_kernel(const KernelContext& context, std::vector<std::unique_ptr<Kernel>> candidates) {
  if (candidates.empty()) fail("no CPU implementation of {}", describe_problem(context));
  if (!context.options.exhaustive_search || candidates.size() == 1) return std::move(candidates.front());
  const std::string problem = question(context, candidates);
  const std::string known = context.search_cache == nullptr ? std::string{} : context.search_cache->find(problem);
  for (auto& candidate : candidates) {
    if (candidate->record().implementation == known) return std::move(candidate);
  }
  std::unique_ptr<Kernel> chosen = std::move(candidates[fastest(context, candidates)]);
  if (context.search_cache != nullptr) context.search_cache->store(problem, chosen->record().implementation);
  return chosen;
}

}  // namespace ptrain::cpu
