#include "core/exec/fusion_policy.h"

#include "core/base/errors.h"
#include "core/base/signals.h"
#include "core/exec/kernel_timing.h"

#include <cmath>

namespace ptrain {
namespace {

constexpr std::string_view fused = "fused", separate = "separate";

KernelContext make_context(const NodeProblem& node, const KernelOptions& options, KernelLibrary& kernels) {
  return {*node.op, node.inputs, node.outputs, options, &kernels.search_cache()};
}

/// A kernel with its own memory for every tensor.
class Trial {
 public:
  Trial(Backend& backend, const NodeProblem& node, const KernelOptions& options)
      : backend_(backend), kernel_(backend.kernels().make_kernel(make_context(node, options, backend.kernels()))) {
    for (const TensorDesc& desc : node.inputs) {
      inputs_.push_back(is_absent(desc) ? nullptr : take(desc.bytes()));
      if (!is_absent(desc)) fill_for_benchmark(backend.memory(), inputs_.back(), desc);
    }
    for (const TensorDesc& desc : node.outputs) outputs_.push_back(take(desc.bytes()));
    workspace_ = take(kernel_->workspace_bytes());
  }

  /// Seconds of one run; infinity when it cannot run.
  double seconds() {
    const KernelLaunch launch = [&] { kernel_->run({inputs_, outputs_, workspace_}); };
    return time_launches(*backend_.stream().make_lap_timer(), std::span(&launch, 1)).front();
  }

 private:
  void* take(std::size_t bytes) { return buffers_.emplace_back(backend_.memory(), bytes).data(); }

  Backend& backend_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<void*> inputs_, outputs_;
  void* workspace_ = nullptr;
};

/// The key of a choice in the search cache: everything that it depends on.
std::string describe(const FusionChoice& choice, const KernelOptions& options, KernelLibrary& kernels) {
  std::string text =
      fmt::format("fusion search={} persistent={} deterministic={} workspace={}:", options.exhaustive_search,
                  options.persistent_batch_norm, options.deterministic, options.workspace_limit);
  for (const NodeProblem& node : choice.separate) {
    text += ' ' + describe_problem(make_context(node, options, kernels)) + ';';
  }
  return text;
}

}  // namespace

std::optional<double> time_nodes(Backend& backend, std::span<const NodeProblem> nodes, const KernelOptions& options) {
  double total = 0;
  try {
    for (const NodeProblem& node : nodes) total += Trial(backend, node, options).seconds();
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::isfinite(total) ? std::optional(total) : std::nullopt;
}

FusionPolicy fuse_where_faster(Backend& backend, const KernelOptions& options) {
  return [&backend, options](const FusionChoice& choice) {
    InterruptibleWork::check("while fusions were chosen; those chosen so far are kept");
    constexpr double worthwhile = 0.98;
    const std::string problem = describe(choice, options, backend.kernels());
    const std::string known = backend.kernels().search_cache().find(problem);
    if (!known.empty()) return known == fused;
    const std::optional<double> together = time_nodes(backend, choice.fused, options);
    const std::optional<double> apart = together ? time_nodes(backend, choice.separate, options) : std::nullopt;
    const bool faster = together && apart && *together < worthwhile * *apart;
    return backend.kernels().search_cache().store(problem, std::string(faster ? fused : separate)) == fused;
  };
}

}  // namespace ptrain
