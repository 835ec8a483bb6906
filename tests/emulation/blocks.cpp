#include "tests/emulation/blocks.h"

#include <ucontext.h>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
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

/// Lives as long as the program: a block's threads run on the fibers of the block before.
struct Fiber {
  std::jmp_buf state;
  std::unique_ptr<char[]> stack;
  Index index;
  bool ended = true;
};

std::vector<Fiber> fibers(most_threads);
std::jmp_buf scheduler;
unsigned current, live;
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
  const unsigned generation = barrier.generation;
  while (barrier.generation == generation) yield();
}

void fiber_main() {
  for (;;) {
    (*thread_of_kernel)();
    fibers[current].ended = true;
    --live;
    if (live > 0 && block_barrier.arrived >= live) block_barrier.release();
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
  live = threads;
  block_barrier = {};
  for (WarpBarriers& barriers : warp_barriers) barriers = {};
  for (unsigned i = 0; i < threads; ++i) {
    fibers[i].index = {i % block_extent.x, i / block_extent.x % block_extent.y, i / block_extent.x / block_extent.y};
    fibers[i].ended = false;
  }
  constexpr unsigned patience = 1'000'000;
  for (unsigned round = 0; live > 0; ++round) {
    if (round == patience) end("a block's threads wait for each other for ever");
    for (unsigned i = 0; i < threads; ++i) {
      if (!fibers[i].ended) resume(i);
    }
  }
}

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  thread_of_kernel = &thread;
  grid_extent = {grid.x, grid.y, grid.z};
  block_extent = {block.x, block.y, block.z};
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        block_index = {x, y, z};
        run_block(block.x * block.y * block.z);
      }
}

}  // namespace

void enqueue_kernel(dim3 grid, dim3 block, cudaStream_t stream, std::function<void()> thread) {
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > most_threads) end("a launch with a bad block");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) {
    end("a launch with a bad grid");
  }
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
