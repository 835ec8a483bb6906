// One block per image selects each kind's smallest random numbers, whose complements are the largest keys.
#include "core/ops/detection/balanced_sample.h"

#include "core/base/rng.h"
#include "core/cuda/cuda_kernels.h"
#include "core/cuda/kernels/detection/ordered_keys.cuh"
#include "core/cuda/primitives/launch.cuh"
#include "core/ops/math/boxes.h"

#include <bit>

namespace ptrain::cuda {
namespace {

/// Selects and sorts up to `most` boxes of one kind. Returns their number.
__device__ inline int draw(const std::int32_t* matches, std::int64_t boxes, bool positive, const RandomStream& random,
                           std::int64_t first_number, int most, Key* keys, int slots) {
  __shared__ int drawn;
  select_largest(0, boxes, most, keys, [&](std::int64_t i) -> Key {
    const bool is_kind = positive ? matches[i] >= 0 : matches[i] == BoxMatch::background;
    if (!is_kind) return 0;
    return make_key(~random.bits(static_cast<std::uint64_t>(first_number + i)), static_cast<std::uint32_t>(i));
  });
  for (int i = most + static_cast<int>(threadIdx.x); i < slots; i += block_threads) keys[i] = 0;
  sort_descending(keys, slots);
  if (threadIdx.x == 0) {
    drawn = 0;
    while (drawn < most && keys[drawn] != 0) ++drawn;
  }
  __syncthreads();
  return drawn;
}

__global__ void __launch_bounds__(block_threads)
    balanced_sample_kernel(const std::int32_t* matches, std::int64_t boxes, const std::int64_t* rng,
                           BalancedSampleAttributes attributes, Key* keys, int slots, std::int32_t* sample) {
  const std::int64_t image = blockIdx.x;
  const RandomStream random{static_cast<std::uint64_t>(rng[0]), static_cast<std::uint64_t>(rng[1]), attributes.stream};
  const std::int64_t first_number = (rng[2] * gridDim.x + image) * boxes;
  matches += image * boxes;
  keys += image * slots;
  sample += image * attributes.count;
  const int positives = draw(matches, boxes, true, random, first_number, attributes.most_positives, keys, slots);
  for (int i = threadIdx.x; i < positives; i += block_threads)
    sample[i] = static_cast<std::int32_t>(get_position(keys[i]));
  __syncthreads();
  const int rest = attributes.count - positives;
  const int background = draw(matches, boxes, false, random, first_number, rest, keys, slots);
  for (int i = threadIdx.x; i < rest; i += block_threads)
    sample[positives + i] = i < background ? static_cast<std::int32_t>(get_position(keys[i])) : -1;
}

class BalancedSampleKernel final : public Kernel {
 public:
  BalancedSampleKernel(const KernelContext& context, Device& device)
      : device_(device),
        attributes_(context.op_as<BalancedSample>().attrs()),
        matches_(context.inputs[BalancedSample::matches].shape),
        slots_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(attributes_.count)))) {}

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(matches_[0]) * static_cast<std::size_t>(slots_) * sizeof(Key);
  }

  void run(const KernelArgs& args) override {
    launch(balanced_sample_kernel, static_cast<unsigned>(matches_[0]), block_threads, device_,
           static_cast<const std::int32_t*>(args.inputs[BalancedSample::matches]), matches_[1],
           static_cast<const std::int64_t*>(args.inputs[BalancedSample::rng]), attributes_,
           static_cast<Key*>(args.workspace), slots_, static_cast<std::int32_t*>(args.outputs[0]));
  }

 private:
  Device& device_;
  BalancedSampleAttributes attributes_;
  Shape matches_;
  int slots_;
};

}  // namespace

std::unique_ptr<Kernel> make_balanced_sample(const KernelContext& context, Device& device) {
  return std::make_unique<BalancedSampleKernel>(context, device);
}

}  // namespace ptrain::cuda
