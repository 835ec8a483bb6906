#include "core/cuda/option_effects.h"

#include <fmt/format.h>

namespace ptrain::cuda {
namespace {

/// The training batch norms, forward and backward, by what they run as; see describe_batch_norm.
struct BatchNorms {
  int persistent = 0;
  int others = 0;
  int in_convolutions = 0;   // forward: norms without a kernel of their own
  std::string_view example;  // what one of the others says of itself

  explicit BatchNorms(std::span<const KernelChoice> chosen) {
    for (const KernelChoice& kernel : chosen) {
      in_convolutions += kernel.op == "batch_norm_finalize";
      const bool is_whole = kernel.op == "batch_norm" || kernel.op == "batch_norm_grad";
      if (!is_whole || kernel.implementation == "native:inference") continue;
      if (kernel.implementation.starts_with("persistent")) {
        ++persistent;
      } else {
        ++others;
        example = kernel.implementation;
      }
    }
  }
};

void fill_batch_norm(OptionEffects& effects, const KernelOptions& options, std::span<const KernelChoice> chosen) {
  effects.persistent_batch_norm = options.persistent_batch_norm;
  if (!options.persistent_batch_norm || chosen.empty()) return;
  const BatchNorms norms(chosen);
  effects.persistent_batch_norm = norms.persistent > 0;
  if (norms.persistent + norms.others + norms.in_convolutions == 0) {
    effects.persistent_batch_norm_reason = "the model has no batch norm";
  } else if (norms.in_convolutions > 0) {
    effects.persistent_batch_norm_reason =
        fmt::format("{} batch norms are fused into convolutions; of the kernels of the others, {} of {} are persistent",
                    norms.in_convolutions, norms.persistent, norms.persistent + norms.others);
  } else if (norms.others > 0) {
    effects.persistent_batch_norm_reason =
        fmt::format("{} of {} batch norm kernels are persistent; another: {}", norms.persistent,
                    norms.persistent + norms.others, norms.example);
  }
}

}  // namespace

OptionEffects option_effects(const KernelOptions& options, std::span<const KernelChoice> chosen) {
  OptionEffects effects;
  effects.exhaustive_search = options.exhaustive_search;
  if (options.exhaustive_search) {
    effects.exhaustive_search_reason = "times cuDNN's plans and cuBLASLt's algorithms";
  }
  fill_batch_norm(effects, options, chosen);
  effects.workspace_limit = options.workspace_limit;
  return effects;
}

}  // namespace ptrain::cuda
