// A thread per side of a box.
#include "core/ops/detection/box_distances.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/box_distribution.h"

namespace ptrain::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(block_threads)
    box_distances_kernel(const T* bins, std::int64_t sides, std::int64_t count, float* distances) {
  for (std::int64_t i = grid_thread(); i < sides; i += grid_threads()) {
    distances[i] = describe_side(count, [&](std::int64_t k) { return to_float(bins[i * count + k]); }).mean;
  }
}

class BoxDistancesKernel final : public Kernel {
 public:
  BoxDistancesKernel(const KernelContext& context, Device& device) : device_(device), bins_(context.inputs[0]) {}

  void run(const KernelArgs& args) override {
    const std::int64_t count = bins_.shape[2] / box_sides, sides = bins_.count() / count;
    visit_floating(bins_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(box_distances_kernel<T>, grid_blocks(device_, sides), block_threads, device_,
             static_cast<const T*>(args.inputs[0]), sides, count, static_cast<float*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc bins_;
};

}  // namespace

std::unique_ptr<Kernel> make_box_distances(const KernelContext& context, Device& device) {
  return std::make_unique<BoxDistancesKernel>(context, device);
}

}  // namespace ptrain::cuda
