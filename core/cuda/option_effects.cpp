#include "core/cuda/option_effects.h"

#include <fmt/format.h>

namespace ptrain::cuda {
namespace {

OptionEffect<bool> persistent_effect(std::span<const KernelRecord> kernels) {
  int persistent = 0, plain = 0, in_convolutions = 0;
  std::string_view example;  // of the plain kernels
  for (const KernelRecord& kernel : kernels) {
    persistent += kernel.batch_norm == BatchNormPart::persistent;
    in_convolutions += kernel.batch_norm == BatchNormPart::in_convolution;
    if (kernel.batch_norm != BatchNormPart::plain) continue;
    ++plain;
    example = kernel.implementation;
  }
  const bool any = persistent > 0;
  if (persistent + plain + in_convolutions == 0) return {any, "the model has no batch norm"};
  if (in_convolutions > 0) {
    return {
        any,
        fmt::format("{} batch norms are fused into convolutions; of the kernels of the others, {} of {} are persistent",
                    in_convolutions, persistent, persistent + plain)};
  }
  if (plain == 0) return {any};
  return {any, fmt::format("{} of {} batch norm kernels are persistent; another: {}", persistent, persistent + plain,
                           example)};
}

OptionEffect<bool> fp8_effect(const KernelOptions& options, std::span<const KernelRecord> kernels, bool has_fp8) {
  if (!has_fp8) return {false, "this GPU has no FP8, which begins with compute capability 8.9"};
  int taken = 0, left = 0;
  for (const KernelRecord& kernel : kernels) {
    taken += kernel.fp8 == Fp8Part::taken;
    left += kernel.fp8 == Fp8Part::left;
  }
  if (taken + left == 0) return {false, "no linear layer computes in 16 bits: see amp.level"};
  if (left == 0) return {true};
  return {taken > 0,
          fmt::format("{} of {} products of linear layers; of the others FP8 {}", taken, taken + left,
                      options.exhaustive_search ? "is no faster, or does not allow their sizes (multiples of 16)"
                                                : "does not allow the sizes (multiples of 16)")};
}

}  // namespace

OptionEffects option_effects(const KernelOptions& options, std::span<const KernelRecord> kernels, bool has_fp8) {
  OptionEffects effects;
  effects.exhaustive_search.value = options.exhaustive_search;
  if (options.exhaustive_search) effects.exhaustive_search.reason = "times cuDNN's plans and cuBLASLt's algorithms";
  effects.persistent_batch_norm.value = options.persistent_batch_norm;
  if (options.persistent_batch_norm && !kernels.empty()) effects.persistent_batch_norm = persistent_effect(kernels);
  effects.workspace_limit.value = options.workspace_limit;
  if (options.fp8) effects.fp8 = fp8_effect(options, kernels, has_fp8);
  return effects;
}

}  // namespace ptrain::cuda
