// One number per row: one block adds them up, in order.
#include "core/ops/binary_cross_entropy.h"

#include "core/cuda/cuda_kernels.h"
#include "core/cuda/primitives/launch.cuh"
#include "core/cuda/primitives/reduce.cuh"
#include "core/cuda/primitives/vector.cuh"
#include "core/ops/math/binary_cross_entropy_math.h"
#include "core/ops/softmax_cross_entropy.h"

namespace ptrain::cuda {
namespace {

struct Labels {
  const std::int32_t* values;
  std::int64_t rows;
  float smoothing;
};

/// In thread 0: the number of rows that count; 1 if none does. All threads of the block call it.
__device__ float counted_rows(const Labels& labels) {
  int counted = 0;
  for (std::int64_t r = threadIdx.x; r < labels.rows; r += block_threads)
    counted += labels.values[r] != ignored_label ? 1 : 0;
  const int total = block_sum(counted);
  return static_cast<float>(total > 1 ? total : 1);
}

template <typename T>
__global__ void __launch_bounds__(block_threads) cross_entropy_kernel(const T* logits, Labels labels, float* loss) {
  double sum = 0;
  for (std::int64_t r = threadIdx.x; r < labels.rows; r += block_threads) {
    if (labels.values[r] == ignored_label) continue;
    const float target = binary_target(labels.values[r], labels.smoothing);
    sum += static_cast<double>(binary_cross_entropy(to_float(logits[r]), target));
  }
  const double total = block_sum(sum);
  const float counted = counted_rows(labels);
  if (threadIdx.x == 0) *loss = static_cast<float>(total / static_cast<double>(counted));
}

__global__ void __launch_bounds__(block_threads) loss_share_kernel(Labels labels, const float* dloss, float* scale) {
  const float counted = counted_rows(labels);
  if (threadIdx.x == 0) *scale = *dloss / counted;
}

template <typename T>
__global__ void __launch_bounds__(block_threads)
    cross_entropy_grad_kernel(const T* logits, Labels labels, const float* scale, T* gradients) {
  for (std::int64_t r = grid_thread(); r < labels.rows; r += grid_threads()) {
    const float error = logistic(to_float(logits[r])) - binary_target(labels.values[r], labels.smoothing);
    gradients[r] = from_float<T>(labels.values[r] == ignored_label ? 0.0f : *scale * error);
  }
}

class BinaryCrossEntropyKernel final : public Kernel {
 public:
  BinaryCrossEntropyKernel(const KernelContext& context, Device& device)
      : device_(device),
        logits_(context.inputs[BinaryCrossEntropy::logits]),
        smoothing_(context.op_as<BinaryCrossEntropy>().label_smoothing()) {}

  void run(const KernelArgs& args) override {
    const Labels labels{static_cast<const std::int32_t*>(args.inputs[BinaryCrossEntropy::labels]), logits_.shape[0],
                        smoothing_};
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(cross_entropy_kernel<T>, 1, block_threads, device_,
             static_cast<const T*>(args.inputs[BinaryCrossEntropy::logits]), labels,
             static_cast<float*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc logits_;
  float smoothing_;
};

class BinaryCrossEntropyGradKernel final : public Kernel {
 public:
  BinaryCrossEntropyGradKernel(const KernelContext& context, Device& device)
      : device_(device),
        logits_(context.inputs[BinaryCrossEntropyGrad::logits]),
        smoothing_(context.op_as<BinaryCrossEntropyGrad>().label_smoothing()) {}

  std::size_t workspace_bytes() const override { return sizeof(float); }

  void run(const KernelArgs& args) override {
    const Labels labels{static_cast<const std::int32_t*>(args.inputs[BinaryCrossEntropyGrad::labels]), logits_.shape[0],
                        smoothing_};
    auto* scale = static_cast<float*>(args.workspace);
    launch(loss_share_kernel, 1, block_threads, device_, labels,
           static_cast<const float*>(args.inputs[BinaryCrossEntropyGrad::dloss]), scale);
    visit_floating(logits_.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch(cross_entropy_grad_kernel<T>, grid_blocks(device_, labels.rows), block_threads, device_,
             static_cast<const T*>(args.inputs[BinaryCrossEntropyGrad::logits]), labels, scale,
             static_cast<T*>(args.outputs[0]));
    });
  }

 private:
  Device& device_;
  TensorDesc logits_;
  float smoothing_;
};

}  // namespace

std::unique_ptr<Kernel> make_binary_cross_entropy(const KernelContext& context, Device& device) {
  return std::make_unique<BinaryCrossEntropyKernel>(context, device);
}
std::unique_ptr<Kernel> make_binary_cross_entropy_grad(const KernelContext& context, Device& device) {
  return std::make_unique<BinaryCrossEntropyGradKernel>(context, device);
}

}  // namespace ptrain::cuda
