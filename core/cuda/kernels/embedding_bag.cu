// One thread per element of the result adds up its bag's rows in order.
#include "core/ops/sparse/embedding_bag.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"

namespace ptrain::cuda {
namespace {

struct Bags {
  std::int64_t count;
  std::int64_t width;
  std::int64_t ids;  // per bag
};

__global__ void __launch_bounds__(block_threads)
    sum_bags_kernel(Bags bags, const std::int32_t* ids, const float* table, float* y) {
  for (std::int64_t i = grid_thread(); i < bags.count * bags.width; i += grid_threads()) {
    const std::int32_t* bag = ids + i / bags.width * bags.ids;
    float sum = 0;
#pragma unroll 4
    for (std::int64_t k = 0; k < bags.ids; ++k) {
      if (bag[k] >= 0) sum += table[bag[k] * bags.width + i % bags.width];
    }
    y[i] = sum;
  }
}

class EmbeddingBagKernel final : public Kernel {
 public:
  EmbeddingBagKernel(const KernelContext& context, Device& device)
      : device_(device),
        bags_{context.outputs[0].count() / context.outputs[0].shape[-1], context.outputs[0].shape[-1],
              context.inputs[EmbeddingBag::ids].shape[-1]} {}

  void run(const KernelArgs& args) override {
    launch(sum_bags_kernel, grid_blocks(device_, bags_.count * bags_.width), block_threads, device_, bags_,
           static_cast<const std::int32_t*>(args.inputs[EmbeddingBag::ids]),
           static_cast<const float*>(args.inputs[EmbeddingBag::table]), static_cast<float*>(args.outputs[0]));
  }

 private:
  Device& device_;
  Bags bags_;
};

}  // namespace

std::unique_ptr<Kernel> make_embedding_bag(const KernelContext& context, Device& device) {
  return std::make_unique<EmbeddingBagKernel>(context, device);
}

}  // namespace ptrain::cuda
