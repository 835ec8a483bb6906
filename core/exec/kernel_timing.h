// Timing for every search: finds the fastest of several ways to compute the same result.
#pragma once

#include "core/base/dtype.h"
#include "core/exec/device_memory.h"
#include "core/exec/stream.h"
#include "core/graph/tensor_desc.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace ptrain {

/// Random values in [-1, 1) that fill a trial's tensors, repeated; zeros for integers, which may be indices. On zeros a
/// device would take less power and run faster than on real data.
std::vector<std::byte> benchmark_values(DType dtype);

/// Fills a tensor of `desc` on a device with benchmark_values().
void fill_for_benchmark(DeviceMemory& memory, void* tensor, const TensorDesc& desc);

/// Launches a candidate once, on the trial's own memory. Throws Error when it cannot run.
using KernelLaunch = std::function<void()>;

/// Seconds per launch of each candidate: its best sample, of several launches where they are short, after a warm-up.
/// Samples of the candidates are interleaved, so that a temporary disturbance affects all of them. More are taken where
/// the timer noticed disturbances or the best two differ; none of a candidate that is much slower than the best or took
/// half a second. Infinity where a launch throws Error.
std::vector<double> time_launches(LapTimer& timer, std::span<const KernelLaunch> candidates);

/// The fastest candidate. The first, in the library's order of preference, is kept unless another is clearly faster.
/// Empty when none can run.
std::optional<std::size_t> find_fastest(LapTimer& timer, std::span<const KernelLaunch> candidates);

}  // namespace ptrain
