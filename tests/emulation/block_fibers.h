// Runs a kernel's blocks on the host: a fiber a thread, in turn until each waits or ends.
#pragma once

#include "tests/emulation/emulated_stream.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace emulation {

struct Index {
  unsigned x, y, z;
};
extern Index thread_index, block_index, block_extent, grid_extent;

/// Enqueues the kernel that `thread` runs one thread of. Ends the program on what CUDA would not launch.
void enqueue_kernel(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread);

/// A barrier of all threads of the block that have not ended.
void wait_for_block();
/// A barrier of some lanes of a warp, a bit each: all, or one half.
void wait_for_warp(unsigned lanes);
/// This thread's number in the block.
unsigned thread_number();
/// What `bytes` at `value` are in the thread of this warp whose number differs by `distance` (exclusive or).
void exchange(void* value, std::size_t bytes, unsigned distance);
/// Whether `condition` holds for any thread of the block; a barrier.
bool any_in_block(bool condition);

}  // namespace emulation
