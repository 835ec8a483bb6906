// The trial that every search makes: which of several ways to compute the same thing is fastest.
#pragma once

#include "core/base/dtype.h"
#include "core/exec/device_memory.h"
#include "core/exec/stream.h"
#include "core/graph/tensor_desc.h"

namespace ptrain {

/// Random values in [-1, 1) that fill a trial's tensors, again and again; zeros of integers, which may be indices. On
/// zeros a device takes less power, and computes faster than it will.
std::vector<std::byte> benchmark_values(DType dtype);

/// Fills a tensor of `desc` on a device with them.
void fill_for_benchmark(DeviceMemory& memory, void* tensor, const TensorDesc& desc);

/// Launches a candidate once, on the trial's own memory. Throws Error when it cannot run.
using KernelLaunch = std::function<void()>;

/// Seconds of a launch of each candidate: its best sample, of several launches where they are short, after one that
/// warms up. Candidates are sampled by turns, so that what disturbs the machine for a while disturbs all of them; those
/// far behind the best, and those that took half a second, are sampled no more. Infinity where a launch throws Error.
std::vector<double> time_launches(LapTimer& timer, std::span<const KernelLaunch> candidates);

/// The candidate to keep. They come in their library's order of preference, which stands unless one is clearly faster.
/// Empty when none can run.
std::optional<std::size_t> find_fastest(LapTimer& timer, std::span<const KernelLaunch> candidates);

}  // namespace ptrain
