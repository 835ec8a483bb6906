#include "tests/emulation/block_fibers.h"

#include <ucontext.h>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

namespace emulation {

Index thread_index, block_index, block_extent, grid_extent;

namespace {

constexpr unsigned most_threads = 1024, warp_threads = 32;
constexpr std::size_t stack_bytes = 128 << 10;

/// Where a number of threads wait for each other, again and again.
struct Barrier {
  unsigned arrived = 0, generation = 0;

  void release() { arrived = 0, ++generation; }
};

/// Runs a block's threads one after another for as long as none waits; one that waits keeps the fiber until it has
/// ended. Lives as long as the program.
struct Fiber {
  std::jmp_buf state;
  std::unique_ptr<char[]> stack;
  Index index;                        // of its thread
  const Barrier* waits_at = nullptr;  // null: it has no thread
  unsigned generation = 0;            // of that barrier, when it came there
};

std::vector<Fiber> fibers(most_threads);
std::jmp_buf scheduler;
unsigned current;
unsigned next_thread, threads_of_block, live;  // of the block: the next to start, how many, those that have not ended
std::vector<unsigned> thread_order;            // of a block's threads
const std::function<void()>* thread_of_kernel;
struct WarpBarriers {
  Barrier all, low_half, high_half;
};

Barrier block_barrier;
WarpBarriers warp_barriers[most_threads / warp_threads];
unsigned char slots[most_threads][16];
bool any;

[[noreturn]] void end(const char* message) {
  std::fprintf(stderr, "emulation: %s\n", message);
  std::abort();
}

/// Back to the scheduler, until it is this fiber's turn again.
void yield() {
  if (_setjmp(fibers[current].state) == 0) _longjmp(scheduler, 1);
}

void wait(Barrier& barrier, unsigned threads) {
  if (++barrier.arrived >= threads) return barrier.release();
  Fiber& fiber = fibers[current];
  fiber.waits_at = &barrier;
  fiber.generation = barrier.generation;
  yield();
  fiber.waits_at = nullptr;
}

/// An order of `count` things in which neighbours are far from each other, and the first is not the first: what relies
/// on an order that CUDA does not promise fails.
class Shuffled {
 public:
  explicit Shuffled(std::uint64_t count) : count_(count), stride_(0x9e3779b1u % count + count / 2) {
    while (std::gcd(stride_, count) != 1) ++stride_;
    stride_ %= count;
  }
  std::uint64_t operator[](std::uint64_t i) const { return (count_ / 3 + i * stride_) % count_; }

 private:
  std::uint64_t count_, stride_;
};

Index index_in(const Index& extent, std::uint64_t number) {
  return {static_cast<unsigned>(number % extent.x), static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

void fiber_main() {
  for (;;) {
    while (next_thread < threads_of_block) {
      fibers[current].index = thread_index = index_in(block_extent, thread_order[next_thread++]);
      (*thread_of_kernel)();
      --live;
      if (live > 0 && block_barrier.arrived >= live) block_barrier.release();
    }
    yield();
  }
}

/// Runs fiber `number` until it yields.
void resume(unsigned number) {
  current = number;
  Fiber& fiber = fibers[number];
  thread_index = fiber.index;
  if (_setjmp(scheduler) != 0) return;
  if (fiber.stack != nullptr) _longjmp(fiber.state, 1);
  fiber.stack = std::make_unique<char[]>(stack_bytes);
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = stack_bytes;
  context.uc_link = nullptr;
  makecontext(&context, fiber_main, 0);
  setcontext(&context);
}

void run_block(unsigned threads) {
  next_thread = 0;
  live = threads_of_block = threads;
  block_barrier = {};
  for (WarpBarriers& barriers : warp_barriers) barriers = {};
  unsigned used = 0;
  while (next_thread < threads) resume(used++);
  while (live > 0) {
    bool moved = false;
    for (unsigned i = 0; i < used; ++i) {
      const Fiber& fiber = fibers[i];
      if (fiber.waits_at == nullptr || fiber.waits_at->generation == fiber.generation) continue;
      moved = true;
      resume(i);
    }
    if (!moved) end("a block's threads wait for each other for ever");
  }
}

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  thread_of_kernel = &thread;
  grid_extent = {grid.x, grid.y, grid.z};
  block_extent = {block.x, block.y, block.z};
  const unsigned threads = block.x * block.y * block.z;
  thread_order.resize(threads);
  const Shuffled order(threads);
  for (unsigned i = 0; i < threads; ++i) thread_order[i] = static_cast<unsigned>(order[i]);
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const Shuffled block_order(blocks);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    block_index = index_in(grid_extent, block_order[i]);
    run_block(threads);
  }
}

}  // namespace

void enqueue_kernel(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > most_threads) end("a launch with a bad block");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) {
    end("a launch with a bad grid");
  }
  require_current(stream, "a kernel is launched");
  enqueue(stream, [grid, block, thread = std::move(thread)] { run_grid(grid, block, thread); });
}

unsigned thread_number() {
  return thread_index.x + block_extent.x * (thread_index.y + block_extent.y * thread_index.z);
}

void wait_for_block() { wait(block_barrier, live); }
void wait_for_warp(unsigned lanes) {
  constexpr unsigned low_half = 0xffffu, high_half = 0xffff0000u;
  WarpBarriers& barriers = warp_barriers[thread_number() / warp_threads];
  if (lanes == low_half) return wait(barriers.low_half, warp_threads / 2);
  if (lanes == high_half) return wait(barriers.high_half, warp_threads / 2);
  if (lanes != (low_half | high_half)) end("a barrier of lanes that are neither a warp nor a half of one");
  wait(barriers.all, warp_threads);
}

void exchange(void* value, std::size_t bytes, unsigned distance) {
  const unsigned number = thread_number();
  std::memcpy(slots[number], value, bytes);
  wait_for_warp(0xffffffffu);
  std::memcpy(value, slots[number ^ distance], bytes);
  wait_for_warp(0xffffffffu);
}

bool any_in_block(bool condition) {
  if (condition) any = true;
  wait_for_block();
  const bool result = any;
  wait_for_block();
  any = false;
  wait_for_block();
  return result;
}

}  // namespace emulation
